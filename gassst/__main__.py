from gassst.cli.main import run

run()
