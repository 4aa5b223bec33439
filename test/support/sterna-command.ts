import { resolve } from 'node:path'

const executable = process.env['TEST_STERNA_COMMAND']

/** Whether the executable is tested that TEST_STERNA_COMMAND names, such as dist/sterna-linux-x64, not this checkout. */
export const isExecutable = Boolean(executable)

/** What `sterna` is run as. */
export const sternaCommand: readonly [program: string, ...words: string[]] = executable
  ? [resolve(executable)]
  : [process.execPath, resolve(import.meta.dirname, '../../bin/sterna.js')]
