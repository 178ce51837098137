"""
1. Install
==========

x
"""
print(1)
