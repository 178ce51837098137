"""What is published: the contents of sdist and wheel, a wheel that works alone, an sdist whose tests pass."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import mse
from paths import ROOT


def run(*command, **options) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source: Path, out: Path) -> Path:
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source)
    return out


def install(python: Path, what: str) -> None:
    """Let pip find and install a package with all that it needs, as users do; the wheels of others are not compiled ahead."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile", "--prefer-binary", what],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, (
        f"{done.stderr}\npip could not install {what}; where no package index answers, give it a folder of wheels: on a machine "
        "with one, python -m pip download -d wheels '.[plot]', then here PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels"
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        # Python 3.11.4 has filters, and 3.12 warns without one
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return next(folder.iterdir())


def metadata(wheel: Path) -> tuple[set[str], object]:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        text = archive.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode()
    return names, message_from_string(text)


@pytest.mark.slow
def test_wheel_has_the_package_and_the_license_and_nothing_else(built):
    names, about = metadata(next(built.glob("*.whl")))
    code = {str(p.relative_to(ROOT)) for p in (ROOT / "mse").rglob("*.py")}
    extra = {n for n in names if ".dist-info/" not in n}
    viewer = {str(p.relative_to(ROOT)) for p in (ROOT / "mse/tools/page/viewer").iterdir()}  # what pages draw with
    # by py.typed checkers take the types of an installed mse
    assert len(viewer) > 5 and extra == code | viewer | {"mse/py.typed"}
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert about["Version"] == mse.__version__
    assert about["License-Expression"] == "BSD-3-Clause"
    needed = {r.split(">")[0] for r in about.get_all("Requires-Dist") if "extra" not in r}
    assert needed == {"numpy", "scipy", "numba"}


def test_sdist_has_all_that_a_packager_needs(unpacked):
    for name in (
        "LICENSE",
        "CITATION.cff",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.md",
        "hatch_build.py",
        "benchmarks/run.py",
        "mse/tools/page/viewer/view.js",
        "mse/tools/page/viewer/page.css",
    ):
        assert (unpacked / name).is_file(), name
    built_by_sphinx = ("docs/api/", "docs/gallery/", "docs/tutorial/")
    for folder in ("mse", "tests", "docs", "examples", "benchmarks"):
        here = {
            p.relative_to(ROOT).as_posix()
            for p in (ROOT / folder).rglob("*")
            if p.is_file() and "__pycache__" not in p.parts
        }
        here = {name for name in here if not name.startswith(built_by_sphinx)}
        there = {p.relative_to(unpacked).as_posix() for p in (unpacked / folder).rglob("*") if p.is_file()}
        assert here <= there


@pytest.mark.slow
def test_wheel_works_in_an_empty_environment(built, tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    scripts = "Scripts" if os.name == "nt" else "bin"
    python = tmp_path / "venv" / scripts / "python"
    packages = Path(run(python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    assert not list(packages.iterdir())
    install(python, f"{next(built.glob('*.whl'))}[plot]")
    # by the command that the wheel installs, and without what the environment of the tests tells Python
    alone = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    out = run(python.parent / "mse", "demo", cwd=tmp_path, env=alone)
    assert "0.1516077" in out
    assert (tmp_path / "pendulum_transfer_function.png").stat().st_size > 5000
    for name in ("mse", "numpy", "scipy", "numba", "matplotlib"):
        where = run(python, "-I", "-c", f"import {name}; print({name}.__file__)", cwd=tmp_path)
        assert Path(where.strip()).is_relative_to(packages)


def test_where_no_index_answers_a_folder_of_wheels_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    venv.create(tmp_path / "venv", with_pip=False)
    with pytest.raises(AssertionError, match=r"No matching distribution found for numpy(?s:.*)PIP_FIND_LINKS=wheels"):
        install(tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python", "numpy")


@pytest.mark.slow
def test_published_readme_shows_its_pictures(tmp_path, unpacked):
    source = tmp_path / "source"
    source.mkdir()
    settings = (unpacked / "pyproject.toml").read_text()
    assert tomllib.loads(settings)["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"] == ""
    for name in ("README.md", "LICENSE", "hatch_build.py"):
        (source / name).write_bytes((unpacked / name).read_bytes())
    (source / "mse").mkdir()
    (source / "mse" / "__init__.py").write_text('__version__ = "0"\n')
    (source / "pyproject.toml").write_text(settings.replace('repository = ""', 'repository = "https://host/group/mse"'))
    _, about = metadata(next(build(source, tmp_path / "out").glob("*.whl")))
    assert "Repository, https://host/group/mse" in about.get_all("Project-URL")
    text = about.get_payload()
    assert "](https://host/group/mse/raw/main/docs/pictures/four_wires.png)" in text
    assert "](https://host/group/mse/blob/main/docs/joints.md)" in text
    assert "](docs/" not in text


def test_the_citation_is_of_this_version():
    assert f"\nversion: {mse.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_workflow_names_three_systems_and_three_pythons():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    for name in ("ubuntu", "windows", "macos", '"3.11"', '"3.12"', '"3.13"', ".ci/run"):
        assert name in text
    forms = {p.stem for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")}
    assert {"wrong_result", "missing_ability"} <= forms


def test_a_build_leaves_nothing_in_the_checkout(built):
    assert not (ROOT / "build").exists()
