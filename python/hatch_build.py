"""Builds the Go engine into the wheel, so that `pip install` leaves `aether-ooc` on the PATH."""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMAND = "aether-ooc"


class GoBuildHook(BuildHookInterface[Any]):
    """Runs `go build` for the command and adds it to the wheel's scripts."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the binary and names it, and the platform that it is for, in build_data."""
        module = self._go_module()
        self._folder = Path(tempfile.mkdtemp(prefix="aethergraph-build-"))
        binary = self._folder / COMMAND
        try:
            self._build(module, binary)
        except BaseException:
            self.finalize(version, build_data, "")
            raise
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["shared_scripts"][str(binary)] = COMMAND

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what initialize built: the wheel has it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _go_module(self) -> Path:
        module = Path(self.root).parent
        if not (module / "go.mod").is_file():
            raise RuntimeError(
                f"aethergraph builds its engine from the Go module around it, and {module} has no go.mod: "
                "install from a checkout of the whole repository (pip install ./python)"
            )
        if shutil.which("go") is None:
            raise RuntimeError(
                "aethergraph builds its engine with Go, and there is no 'go' on the PATH: install Go 1.25 or newer "
                "(https://go.dev/dl) and try again"
            )
        return module

    def _build(self, module: Path, binary: Path) -> None:
        linked = f"-s -w -X main.version={self.metadata.version}"  # without symbols: a third smaller
        subprocess.run(
            ["go", "build", "-trimpath", "-ldflags", linked, "-o", str(binary), f"./cmd/{COMMAND}"],
            cwd=module,
            env={**os.environ, "CGO_ENABLED": "0"},  # a static binary, for any C library
            check=True,
        )
