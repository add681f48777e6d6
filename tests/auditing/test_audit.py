"""An audit as an experiment: its parts, its store, its page, its command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli.conftest import run_cli  # type: ignore

