"""The promises of the README about two commands: pinned, without a host name, and what CI runs."""

import re
import tomllib

from packaging.requirements import Requirement

from labkit.files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_that_is_asked_for_is_pinned():
    pins = {
        Requirement(pin).name: Requirement(pin) for pin in PROJECT["tool"]["uv"]["constraint-dependencies"]
    }
    extras = PROJECT["project"]["optional-dependencies"].values()
    groups = (PROJECT["project"]["dependencies"], *extras, PROJECT["dependency-groups"]["dev"])
    asked = {Requirement(one) for group in groups for one in group}
    assert {one.name for one in asked} <= set(pins)
    assert all(re.fullmatch(r"==[^*]+", str(pin.specifier)) for pin in pins.values())


def test_no_registry_is_named():
    assert "://" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "uv.lock" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_ci_runs_the_command_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install uv && uv run labkit test" in readme
    said = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^pip install .*uv && uv run (--quiet )?labkit test$", said, re.MULTILINE)


def test_every_notebook_of_the_course_is_in_the_map_of_the_readme():
    rows = re.findall(
        r"^\| (\d\d) \| `(\w+)`", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    built = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert built <= {f"{number}_{topic}" for number, topic in rows}
