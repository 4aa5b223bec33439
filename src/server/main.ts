import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../platform/clock.ts'
import { asksForJson, failed, parseCommand, resultOf, runCommand, type ParsedCommand } from '../clients/command/command-line.ts'
import { textOption, type CommandInput, type CommandOutput } from '../clients/command/command.ts'
import { somethingToDo } from '../clients/command/config-commands.ts'
import { confirm, ownTerminal, type Terminal } from '../clients/command/confirm.ts'
import { askServer, controlSocketPath, serveControlSocket, type CommandResult } from '../clients/command/control-socket.ts'
import { askHealth } from '../clients/command/health-command.ts'
import { help } from '../clients/command/help-page.ts'
import { requireData } from '../clients/command/require-data.ts'
import { commandPrefix, configFileIn, showCommands, showCommandsInLine, startedAs, startWords } from '../clients/command/shown-commands.ts'
import { listening, welcome } from '../clients/command/welcome.ts'
import { loadConfig } from '../platform/config/load-config.ts'
import type { Config } from '../platform/config/settings.ts'
import { messageOf, SternaError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { isBinary, programFile } from '../platform/program.ts'
import { BuriedError } from '../platform/store/nodes.ts'
import type { Relay } from './relay/relay.ts'
import { nextStopSignal } from './relay/signals.ts'

/** ms that a stop may take before what is in hand is left for the next start. Containers are killed after 10 s. */
const stopWithinMs = 9_000

/** The command line: runs `sterna ARGV…` and returns its exit code. */
export async function main(argv: string[]): Promise<number> {
  // A closed pipe, as with head(1), must not end a server.
  process.stdout.on('error', () => {})
  try {
    const parsed = parseCommand({ argv, cwd: process.cwd() })
    const terminal = ownTerminal()
    const nothingToAsk = await showFirst(parsed, argv, terminal)
    if (!nothingToAsk) await confirm(parsed, terminal)
    const result = nothingToAsk ?? (await carryOut(parsed, argv))
    process.stdout.write(parsed.command.advises ? forPeople(String(result.stdout), argv) : result.stdout)
    process.stderr.write(forPeople(result.stderr, argv))
    return result.exitCode
  } catch (error) {
    const { stderr, exitCode } = failed(error, asksForJson(argv))
    process.stderr.write(forPeople(stderr, argv))
    return exitCode
  }
}

/** A log that names commands in the way this one was started. */
function forPeople(text: string, argv: readonly string[]): string {
  return asksForJson(argv) ? text : showCommands(text, commandPrefix(startedAs(configFileIn(argv))))
}

/** Shows what a command would do before it is asked about. Returns the result if that is all: nothing to do, or a failure. */
async function showFirst({ command, input, isConfirmed }: ParsedCommand, argv: string[], terminal: Terminal) {
  if (command.showsFirst === undefined || isConfirmed || !terminal.isInteractive || command.asks?.(input) === null) return undefined
  const shownArgv = [...argv, `--${command.showsFirst}`]
  const shown = await carryOut(parseCommand({ argv: shownArgv, cwd: process.cwd() }), shownArgv)
  if (shown.exitCode !== somethingToDo) return shown
  process.stderr.write(`${String(shown.stdout)}${shown.stderr}`)
  return undefined
}

type OwnOutput = CommandOutput<string | Buffer>

async function carryOut(parsed: ParsedCommand, argv: string[]): Promise<CommandResult<string | Buffer>> {
  const { command, input, configFile } = parsed
  if (command.name === 'bench') return bench(input)
  const output = await withoutConfig(parsed)
  if (output) return resultOf(output, input)
  const config = loadConfig({ file: configFile, env: process.env })
  const started = startedAs(configFile)
  const prefix = commandPrefix(started, config.origins.has('data_dir') ? null : config.dataDir)
  if (command.name === 'serve') return serve(config, await logFor(config, prefix), { ...parsed, prefix, start: startWords(started) })
  const own = await withoutServer(parsed, config)
  if (own) return resultOf(own, input)
  if (command.name === 'health') return askHealth(config, { argv, cwd: process.cwd() })
  const request = { argv, cwd: process.cwd(), prepared: command.prepare?.(input, process.env) }
  const client = { tell: tellHere, signal: new AbortController().signal }
  const answered = await askServer(controlSocketPath(config.dataDir), request, client)
  if (answered) return answered
  const { runAlone } = await import('../clients/command/run-alone.ts')
  return runAlone(request, { config, log: await logFor(config, prefix), client, version: version() })
}

/** Commands in it are written as this one was. */
async function logFor({ log }: Config, prefix: string) {
  const { createLog, standardError } = await import('../platform/log.ts')
  const writeLine = standardError()
  return createLog(log.level, (line, canWait) => writeLine(showCommandsInLine(line, prefix), canWait))
}

/** Runs a command that needs no configuration. What only one command needs is imported where it runs, so that the others start sooner. */
async function withoutConfig({ command, input }: ParsedCommand): Promise<OwnOutput | undefined> {
  switch (command.name) {
    case 'help':
      return help(input.args)
    case 'version':
      return { stdout: `${version()}\n`, json: { object: 'version', version: version() } }
    case 'key generate':
      return (await import('../clients/command/key-commands.ts')).generateKey(input)
    case 'backup identity':
      return (await import('../clients/command/backup-commands.ts')).newIdentity()
    case 'feedback parse':
      return (await import('../clients/command/feedback-commands.ts')).parseFeedbackFiles(input)
    case 'reply explain':
      return (await import('../clients/command/reply-commands.ts')).explainReplies(input)
    case 'tracking rewrite':
      return (await import('../clients/command/tracked-files.ts')).rewriteFile(input, systemClock.now())
    default:
      return undefined
  }
}

/** Runs a command that never runs in a server. */
async function withoutServer({ command, input }: ParsedCommand, config: Config): Promise<OwnOutput | undefined> {
  if (!command.run) await requireData(command, input, config)
  const tell = (line: string): void => void (input.isJson || process.stderr.write(`${line}\n`))
  switch (command.name) {
    case 'tracking judge':
      return (await import('../clients/command/tracked-files.ts')).judgeFiles(input, config.tracking.scannerNetworks)
    case 'backup list':
      return (await import('../clients/command/backup-commands.ts')).listBackupsAt(input, config)
    case 'restore':
      return (await import('../clients/command/restore.ts')).restoreBackup(input, config)
    case 'doctor': {
      const other = textOption(input, 'of')
      if (other === undefined) return undefined
      return (await import('../clients/command/examine-server.ts')).examineOther(other, { config, clock: systemClock })
    }
    case 'upgrade':
      return (await import('../clients/command/upgrade-command.ts')).upgradeDatabase(input, config, { version: version(), tell })
    case 'store copy':
      return (await import('../clients/command/run-store-copy.ts')).runStoreCopy(input, config, { clock: systemClock, tell })
    case 'store reopen':
      return (await import('../clients/command/run-store-copy.ts')).reopenStore(config, systemClock)
    case 'compact':
      return (await import('../clients/command/compact-database.ts')).compactDatabase(config, tell)
    default:
      return undefined
  }
}

/** Prints what a command reports before it ends. */
async function tellHere({ stdout = '', stderr = '' }: { stdout?: string; stderr?: string }): Promise<void> {
  if (stderr !== '') process.stderr.write(stderr)
  // A reader that takes nothing more, such as head(1), ends the command.
  if (stdout !== '')
    await new Promise<void>((resolve, reject) => process.stdout.write(stdout, (error) => (error ? reject(error) : resolve())))
}

/** Serves until it gets a signal to stop. */
async function serve(
  config: Config,
  log: Log & { level: string },
  { configFile, input, prefix, start }: ParsedCommand & { prefix: string; start: string | null },
): Promise<CommandResult> {
  let reload = (): void => {}
  const stopSignal = nextStopSignal(log, () => reload())
  // Commands do not need the relay, and start in half the time without it.
  const { startRelay } = await import('./relay/relay.ts')
  const onFatal = (error: Error): void => {
    const because =
      error instanceof BuriedError
        ? 'this server is no longer part of the others'
        : 'the database can no longer be trusted; the next start finds all acknowledged mail again, or says how to restore a backup'
    log.error({ error }, because)
    process.exit(1)
  }
  const relay = await startRelay(config, { clock: systemClock, log, onFatal, version: version() })
  try {
    const path = controlSocketPath(config.dataDir)
    const control = await serveControlSocket(path, (request, client) => runCommand(request, relay.services, client), log)
    reload = () => void loadAgain(configFile, relay, { config, log })
    const { stdout } = resultOf(await welcome(relay, { version: version(), start }), input)
    process.stdout.write(input.isJson ? stdout : showCommands(stdout, prefix))
    log.info({ version: version(), dataDir: config.dataDir, baseUrl: config.baseUrl, ...listening(relay.addresses) }, 'Sterna is ready')
    log.info({ signal: await stopSignal }, 'stopping')
    await control.close()
  } finally {
    await stopInTime(relay, log)
  }
  return { stdout: '', stderr: '', exitCode: 0 }
}

/** Loads what may change while it serves; a fault of the configuration changes nothing. */
async function loadAgain(
  file: string | undefined,
  relay: Relay,
  { config, log }: { config: Config; log: Log & { level: string } },
): Promise<void> {
  try {
    const { reloaded, needRestart } = await relay.reload(loadConfig({ file, env: process.env }))
    if (reloaded.includes('log.level')) log.level = config.log.level
    log.info({ reloaded }, 'the configuration and the certificate were loaded again')
    if (needRestart.length > 0) log.warn({ needRestart }, 'some settings have changed that take effect after a restart')
  } catch (error) {
    log.error({ problem: messageOf(error) }, 'the configuration could not be loaded again; the one in use stays')
  }
}

async function stopInTime(relay: { stop(): Promise<void> }, log: Log): Promise<void> {
  const tooLate = setTimeout(() => {
    log.warn({}, 'what is still in hand will be retried at the next start')
    process.exit(0)
  }, stopWithinMs)
  await relay.stop()
  // From here on, only something that failed to end could keep the process alive.
  tooLate.unref()
  log.info({}, 'stopped')
}

const version = (): string =>
  (JSON.parse(programFile(new URL('../../package.json', import.meta.url)).toString()) as { version: string }).version

function bench({ isJson }: CommandInput): Promise<CommandResult> {
  if (isBinary) throw new SternaError('invalid_state', 'The benchmark is part of the source only. Run "npm run bench" in a checkout.')
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>()
  const child = spawn(process.execPath, [fileURLToPath(new URL('../../bench/main.ts', import.meta.url)), ...(isJson ? ['--json'] : [])], {
    stdio: 'inherit',
  })
  child.on('error', reject)
  child.on('close', (code) => resolve({ stdout: '', stderr: '', exitCode: code ?? 1 }))
  return promise
}
