"""One setup for both worlds: `colcon build` on a ROS machine, pip everywhere else."""

from glob import glob

from setuptools import find_packages, setup

PACKAGE = 'krang_dynamics_ros'
SHARE = f'share/{PACKAGE}'

setup(
    name=PACKAGE,
    version='0.1.0',
    description='Joint torques of a robot arm, live: gravity, Coriolis, friction and hand forces, for ROS 2',
    maintainer='krang_dynamics_ros maintainers',
    maintainer_email='maintainers@krang-dynamics-ros.example',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['py.typed', '*/*.css', '*/*.js', '*/*.LICENSE']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (SHARE, ['package.xml']),
        (f'{SHARE}/config', glob('config/*.yaml')),
        (f'{SHARE}/config/textbook', glob('config/textbook/*.yaml')),
        (f'{SHARE}/config/recordings', glob('config/recordings/*.yaml')),
        (f'{SHARE}/config/robots', glob('config/robots/*.yaml')),
        (f'{SHARE}/urdf', glob('urdf/*.urdf')),
        (f'{SHARE}/launch', glob('launch/*.launch.py')),
        (f'{SHARE}/rviz', glob('rviz/*.rviz')),
        (f'{SHARE}/layouts', glob('layouts/*')),  # PlotJuggler, Foxglove
        (f'lib/{PACKAGE}', glob('scripts/*')),  # for `ros2 run`; entry points would all be on the path of who uses pip
    ],
    install_requires=['numpy', 'PyYAML', 'pin>=4.1,<5', 'rich'],
    extras_require={
        # viser exactly: who may open the page hangs on its inside (page/server.py); pycollada reads .dae meshes
        'viewer': ['viser==1.1.1', 'pycollada'],
        'symbolic': ['casadi', 'sympy'],
        'recordings': ['rosbags', 'pyarrow', 'scipy'],
        'cluster': ['ray'],
        'identification': ['pyarrow', 'scipy', 'threadpoolctl'],
        'test': ['pytest', 'hypothesis', 'mujoco', 'casadi', 'sympy', 'viser==1.1.1', 'selenium'],
    },
    zip_safe=False,
    entry_points={'console_scripts': [f'krang = {PACKAGE}.__main__:main']},
)
