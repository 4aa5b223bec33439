import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endWithProcess } from './end-with-process.ts'

export interface PostgresServer {
  /** Runs a script with psql, which stops at the first error; gives what it prints: rows alone, `|` between columns. */
  run(script: string): Promise<string>
  /** The path of its socket. */
  socket: string
  /** Its first process. */
  readonly pid: number
  /** `store.url` of a new database; by its name, of one that there is. */
  newUrl(name?: string): Promise<string>
  /** Ends it as a power cut does. */
  crash(): void
  start(): void
  stop(): void
}

/**
 * Debian's PostgreSQL, the newest installed, in a directory of its own below `parent`; it listens on a UNIX socket in there only. `settings`: of
 * the server, besides what keeps it off the network. It ends with this process at the latest.
 */
export function startPostgres({
  parent = tmpdir(),
  settings = {},
}: { parent?: string; settings?: Record<string, string> } = {}): PostgresServer {
  const directory = mkdtempSync(join(parent, 'sterna-postgres-'))
  const data = join(directory, 'data')
  endWithProcess(() => endPostgres(directory))
  giveToOwner(directory)
  const asOwner = (program: string, ...words: string[]): void => runAsOwner(directory, program, words)
  // Not the locale C: that text is compared byte by byte must not depend on how the database was made.
  const options = optionsIn(directory, settings)
  const start = (): void => asOwner('pg_ctl', '-D', data, '-l', join(directory, 'log'), '-o', options, '-w', 'start')
  try {
    asOwner(
      'initdb',
      '-D',
      data,
      '-U',
      'sterna',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale-provider=icu',
      '--icu-locale=en',
      '--locale=C.UTF-8',
      '--no-sync',
    )
    // The first line that fits counts.
    const access = join(data, 'pg_hba.conf')
    writeFileSync(access, `local all locked scram-sha-256\n${readFileSync(access, 'utf8')}`)
    start()
  } catch (error) {
    endPostgres(directory)
    throw error
  }
  const run = (script: string): Promise<string> => psql(join(binaries(), 'psql'), directory, script)
  let databases = 0
  return {
    run,
    async newUrl(name) {
      if (name === undefined) await run(`create database relay_${++databases}`)
      return `postgres://sterna@/${name ?? `relay_${databases}`}?host=${encodeURIComponent(directory)}`
    },
    crash: () => asOwner('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop'),
    start,
    socket: join(directory, '.s.PGSQL.5432'),
    get pid() {
      const pid = pidIn(directory)
      // A signal to 0 would go to this process and its group.
      if (pid === null) throw new Error('PostgreSQL does not run')
      return pid
    },
    stop: () => endPostgres(directory),
  }
}

/** Ends the server in a directory of its own as a power cut does, if it runs, and removes the directory, if there is one. */
export function endPostgres(directory: string): void {
  const pid = pidIn(directory)
  if (pid !== null && existsSync(`/proc/${pid}`))
    runAsOwner(directory, 'pg_ctl', ['-D', join(directory, 'data'), '-m', 'immediate', '-w', 'stop'])
  rmSync(directory, { recursive: true, force: true })
}

/** Null if the server was never started, or was stopped. */
function pidIn(directory: string): number | null {
  const file = join(directory, 'data', 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8')) : null
}

function runAsOwner(directory: string, program: string, words: string[]): void {
  const [file, rest] = ownersCommand(program, words)
  execFileSync(file, rest, { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** What a server is started with: its socket is in this directory. */
export const optionsIn = (directory: string, settings: Record<string, string> = {}): string =>
  Object.entries({ listen_addresses: "''", unix_socket_directories: `'${directory}'`, fsync: 'off', ...settings })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')

/** The server refuses to run as root, and the socket's directory must belong to whoever runs it. */
export function giveToOwner(directory: string): void {
  if (process.getuid?.() === 0) execFileSync('chown', ['postgres', directory])
  chmodSync(directory, 0o755)
}

/** The file and the words that run a program of PostgreSQL as the owner of a server. */
export function ownersCommand(program: string, words: string[]): [file: string, words: string[]] {
  const command = join(binaries(), program)
  return process.getuid?.() === 0 ? ['runuser', ['-u', 'postgres', '--', command, ...words]] : [command, words]
}

function binaries(): string {
  const root = '/usr/lib/postgresql'
  const newest = readdirSync(root)
    .map(Number)
    .toSorted((a, b) => b - a)[0]
  return join(root, String(newest), 'bin')
}

function psql(program: string, host: string, script: string): Promise<string> {
  const words = [
    '-h',
    host,
    '-U',
    'sterna',
    '-d',
    'postgres',
    '--no-psqlrc',
    '--quiet',
    '--tuples-only',
    '--no-align',
    '-v',
    'ON_ERROR_STOP=1',
  ]
  const env = { ...process.env, PGCLIENTENCODING: 'UTF8', PGOPTIONS: '-c client_min_messages=warning' }
  return new Promise((resolve, reject) => {
    const child = execFile(program, words, { env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr || error.message))
      else resolve(stdout)
    })
    child.stdin?.on('error', () => {})
    child.stdin?.end(script)
  })
}

/** A value as a literal of any type, the way a client sends parameters as text. */
export function sqlLiteral(value: string | number | Uint8Array | null): string {
  if (value === null) return 'null'
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'`
  return `'${String(value).replaceAll("'", "''")}'`
}
