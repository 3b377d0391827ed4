import pytest

from paddlewheel.output.picture import MissingExtraError
from paddlewheel.output.render_liquid import require_pyvista


@pytest.fixture
def space():
    """Skip where 3-D pictures cannot be drawn: there the simulator works all the same."""
    try:
        require_pyvista()
    except MissingExtraError as error:
        pytest.skip(str(error))
