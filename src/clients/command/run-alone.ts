import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../platform/config/settings.ts'
import type { Log } from '../../platform/log.ts'
import { closedStore } from '../../platform/store/closed-store.ts'
import { backUpAlone } from './back-up-alone.ts'
import { parseCommand, resultOf, runCommand } from './command-line.ts'
import { flagOption, type Command, type CommandClient, type CommandInput } from './command.ts'
import type { CommandRequest, CommandResult } from './control-socket.ts'
import { openCommandServices } from './open-command-services.ts'
import { requireData } from './require-data.ts'

interface Alone {
  config: Config
  log: Log
  client: CommandClient
  /** Of this program. */
  version: string
}

/**
 * Runs a command on the data directory itself, because no server runs on it.
 * @throws SternaError `not_found` without a server's data, `configuration` if the directory cannot be opened
 */
export async function runAlone(request: CommandRequest, { config, log, client, version }: Alone): Promise<CommandResult> {
  const { command, input } = parseCommand(request)
  await requireData(command, input, config)
  if (command.name === 'backup') return resultOf(await backUpAlone(input, config, log), input)
  const isNew = await closedStore(config).isNew()
  if (isNew && onlyShows(command, input)) return inNoDirectory(config, (empty) => runOn(request, { config: empty, log, client, version }))
  const ran = await runOn(request, { config, log, client, version })
  return isNew ? { ...ran, stderr: `${config.dataDir} was empty, so a new database was made there.\n${ran.stderr}` } : ran
}

const onlyShows = ({ showsFirst }: Command, input: CommandInput): boolean => showsFirst !== undefined && flagOption(input, showsFirst)

/** Shows what a command would do to a server that does not exist yet, and leaves no trace of one. */
async function inNoDirectory<T>(config: Config, run: (empty: Config) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sterna-'))
  try {
    return await run({ ...config, dataDir, secretKeyFile: join(dataDir, 'secret.key') })
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function runOn(request: CommandRequest, { config, log, client, version }: Alone): Promise<CommandResult> {
  const reads = parseCommand(request).command.reads === true
  const { services, close } = await openCommandServices(config, log, reads ? {} : { version })
  try {
    return await runCommand(request, services, client)
  } finally {
    await close()
  }
}
