"""How the documentation is built: ``sphinx-build -W --keep-going docs out/site`` (extra ``docs``), without any network."""

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])

import mse  # noqa: E402  (the checkout's)

logging.getLogger("mse").setLevel(
    logging.WARNING
)  # what is compiled on the way is no output of an example

project = "mse"
author = "the authors of mse"
copyright = author
release = version = mse.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "gallery",
    "api_pages",
    "site_search",
]
exclude_patterns = [
    "_extensions",
    "gallery/*.ipynb",
    "tutorial/*.ipynb",
    "**/GALLERY_HEADER.rst",
    "gallery/scenes",
]
nitpicky = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # types stand in the docstrings, with units
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

sphinx_gallery_conf = {
    "examples_dirs": ["steps", "../examples"],
    "gallery_dirs": ["tutorial", "gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery.order",
    "image_scrapers": ("gallery.figures",),
    "reset_modules": (),
    "capture_repr": ("_repr_html_",),
    "ignore_repr_types": r"matplotlib",
    "copyfile_regex": r".*\.json",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "write_computation_times": False,  # its table asks another host for a script
}

html_theme = "furo"
html_title = f"mse {release}"
html_static_path = ["_static"]
html_css_files = ["mse.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
html_math_renderer = "mathml"
pygments_style = "tango"
pygments_dark_style = "monokai"
