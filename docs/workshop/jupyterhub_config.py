"""JupyterHub for one room on one machine: everybody signs up, the instructor lets them in.

Run by `uv run --group hub labkit hub --admin NAME`. Passwords are real (NativeAuthenticator, bcrypt); the
people share one Unix account, so this keeps honest people apart and no attacker out.
"""

import os
import sys
from pathlib import Path

from jupyterhub.spawner import SimpleLocalProcessSpawner

from labkit.classroom.copies import hand_out

ROOT = Path(__file__).resolve().parents[2]
STATE = Path(os.environ["LABKIT_HUB"])


def welcome(spawner) -> None:
    """Give a learner a copy of every notebook that he does not have yet."""
    spawner.environment = {
        **spawner.environment,
        "LABKIT_WORK": str(hand_out(STATE / "people" / spawner.user.name)),
    }


class OneAccount(SimpleLocalProcessSpawner):
    """Everybody's server in a folder of his own, all below the hub's state."""

    home_dir_template = str(STATE / "people" / "{username}")


c = get_config()  # noqa: F821
c.JupyterHub.authenticator_class = "native"
c.Authenticator.admin_users = {os.environ["LABKIT_ADMIN"]}
c.Authenticator.allow_all = True
c.NativeAuthenticator.check_common_password = True
c.NativeAuthenticator.minimum_password_length = 8
c.NativeAuthenticator.allowed_failed_logins = 5
c.JupyterHub.spawner_class = OneAccount
c.JupyterHub.bind_url = os.environ["LABKIT_HUB_URL"]
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.db_url = f"sqlite:///{STATE / 'hub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.args = [f"--LabApp.app_settings_dir={ROOT / 'labkit' / 'classroom' / 'jupyterlab'}", "--allow-root"]
c.Spawner.default_url = "/lab/tree/00_start_here.ipynb"
c.Spawner.environment = {"PYTHONUTF8": "1"}
c.Spawner.pre_spawn_hook = welcome
c.Spawner.http_timeout = 120
c.Spawner.start_timeout = 120
