import { fstatSync } from 'node:fs'
import { userInfo } from 'node:os'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandVariable } from '../../platform/config/load-config.ts'
import { isBinary } from '../../platform/program.ts'
import { commands } from './command-list.ts'

/**
 * How commands are written where this process runs. Messages call them `sterna queue list`, and people who read a message on this machine, in
 * a terminal or a log, get what they can run there. Whoever reads it elsewhere, through the API, gets the plain name.
 */

/** What a process knows of how it was started. */
export interface Started {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  /** The file given by `--config`. */
  configFile: string | undefined
  /** The words that start the program: the executable as it was typed, or Node and `bin/sterna.js`. */
  program: string[]
  /** The checkout; null for the executable. */
  checkout: string | null
  user: string
  /** Whether a service manager started it, so that its messages are read in another directory and by another user. */
  isService: boolean
}

/**
 * The words before a command's name.
 * @param dataDir of a server whose configuration may not say where it is
 */
export function commandPrefix(
  { env, cwd, configFile, program, checkout, user, isService }: Started,
  dataDir: string | null = null,
): string {
  const told = env[commandVariable]
  if (told) return told
  const assigned = assignments({ env, cwd, configFile })
  if (isService && dataDir !== null && !env['STERNA_DATA_DIR']) assigned.push(`STERNA_DATA_DIR=${dataDir}`)
  const isSudo = isService || (env['SUDO_USER'] ?? user) !== user
  const start = !isService && checkout !== null && isWithin(cwd, checkout) ? ['npx', 'sterna'] : program
  return [...(isSudo ? ['sudo', '-u', user] : []), ...assigned, ...start].map(quoted).join(' ')
}

/** What it takes to find the same data, however the process got it. */
function assignments({ env, cwd, configFile }: Pick<Started, 'env' | 'cwd' | 'configFile'>): string[] {
  const files: Started['env'] = { ...env, STERNA_CONFIG: configFile ?? env['STERNA_CONFIG'] }
  return (['STERNA_CONFIG', 'STERNA_DATA_DIR', 'STERNA_SECRET_KEY_FILE'] as const).flatMap((name) => {
    const file = files[name]
    return file ? [`${name}=${resolve(cwd, file)}`] : []
  })
}

/** npx looks for the checkout from the directory upwards; elsewhere it would ask a registry for a package of that name. */
const isWithin = (directory: string, checkout: string): boolean => !relative(checkout, directory).startsWith('..')

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)

/** The longest names first: `backup list` is no `backup`. */
const names = commands.map(({ name }) => name).sort((one, other) => other.length - one.length)
const anyCommand = new RegExp(`(?<![\\w./-])sterna (?=(${names.join('|')})\\b)`, 'g')
/** These need a server that does not run, and so does its container not. */
const whileStopped = new Set(['restore', 'compact', 'upgrade'])
const inRunningService = /^((?:docker|podman)[ -]compose(?: .+)?) exec (\S+) sterna$/

/** Writes each command in a text for people as it is written here. */
export function showCommands(text: string, prefix: string): string {
  if (!text.includes('sterna ')) return text
  const stopped = prefix.replace(inRunningService, '$1 run --rm $2')
  return text.replace(anyCommand, (_, name: string) => `${whileStopped.has(name) ? stopped : prefix} `)
}

/** Does the same in the message of a log line, its last member. Its fields hold words of others, such as a host's reply, and stay as they are. */
export function showCommandsInLine(line: string, prefix: string): string {
  if (!line.includes('sterna ')) return line
  const place = line.lastIndexOf(',"message":"')
  return line.slice(0, place) + showCommands(line.slice(place), JSON.stringify(prefix).slice(1, -1))
}

/** How to start the server with another name in its environment; null if its settings are in a file, a service or a container. */
export function startWords({ env, cwd, configFile, program, checkout, isService }: Started): string | null {
  if (isService || configFile !== undefined || env['STERNA_CONFIG'] || env[commandVariable]) return null
  const start = checkout !== null && isWithin(cwd, checkout) ? ['npm', 'start'] : [...program, 'serve']
  return [...assignments({ env, cwd, configFile }), ...start].map(quoted).join(' ')
}

/** The value of `--config` in a command line that may not be right. */
export function configFileIn(argv: readonly string[]): string | undefined {
  const place = argv.findIndex((word) => word === '--config' || word.startsWith('--config='))
  return place < 0 ? undefined : (/^--config=(.+)/s.exec(argv[place] ?? '')?.[1] ?? argv[place + 1])
}

/** How this process was started. */
export function startedAs(configFile: string | undefined): Started {
  const checkout = isBinary ? null : fileURLToPath(new URL('../../../', import.meta.url))
  return {
    env: process.env,
    cwd: process.cwd(),
    configFile,
    program: checkout === null ? [process.argv0] : [process.execPath, resolve(checkout, 'bin/sterna.js')],
    checkout,
    user: userName(),
    isService: isInJournal(process.env['JOURNAL_STREAM']),
  }
}

/** systemd names the device and the inode of the stream that it reads. A shell may have inherited that of another process. */
function isInJournal(stream: string | undefined): boolean {
  if (!stream) return false
  const { dev, ino } = fstatSync(2)
  return stream === `${dev}:${ino}`
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // It has no entry in the user database.
    return `#${process.getuid?.() ?? 0}`
  }
}
