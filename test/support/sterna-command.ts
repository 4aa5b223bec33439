import { resolve } from 'node:path'

/** What `sterna` is run as: from this checkout, or the executable that TEST_STERNA_COMMAND names, such as dist/sterna-linux-x64. */
export const sternaCommand: readonly [program: string, ...words: string[]] = process.env['TEST_STERNA_COMMAND']
  ? [resolve(process.env['TEST_STERNA_COMMAND'])]
  : [process.execPath, resolve(import.meta.dirname, '../../bin/sterna.js')]
