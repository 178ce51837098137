"""What users and files give, checked once, with errors that name the object, the value, what is expected and the remedy."""
