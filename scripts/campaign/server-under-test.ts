import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { freePort } from '../../bench/free-port.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { endWithProcess } from '../../test/support/end-with-process.ts'
import { firstAccount } from '../../test/support/first-account.ts'

const command = new URL('../../bin/sterna.js', import.meta.url).pathname

/** How a process ended, and what it said. */
export interface Ending {
  /** Null where a signal ended it. */
  code: number | null
  stdout: string
  stderr: string
}

/** The server ended instead of opening its doors. */
export class NotStarted extends Error {
  readonly ending: Ending
  constructor(ending: Ending) {
    super(`the server did not start: exit code ${ending.code}, ${ending.stderr}`)
    this.ending = ending
  }
}

/** A real server process on a data directory that outlives it. */
export class ServerUnderTest {
  /** What its processes are started with. */
  readonly environment: NodeJS.ProcessEnv
  token = ''
  /** How many files and sockets the server may have open; null: as many as this process. */
  openFiles: number | null = null
  /** The file that is started. */
  program = command
  #process: ChildProcess | undefined
  #ended: Promise<Ending> | undefined
  #said = ''
  #logged = ''
  /** Whether what it writes to standard error is only kept for its ending. */
  #isQuiet = false
  #ports: Ports

  private constructor(environment: NodeJS.ProcessEnv, ports: Ports) {
    this.#ports = ports
    this.environment = { ...environment, ...listenOn(ports) }
    endWithProcess(() => this.isRunning && this.#process?.kill('SIGKILL'))
  }

  /**
   * Prepares the directory: an account, a verified domain `sender.example`, a key. The server is not started yet.
   * `settings`: by the names of their variables, beside those that every campaign has.
   */
  static async prepare(
    directory: string,
    dnsServer: string,
    mxPort: number,
    settings: Record<string, string> = {},
  ): Promise<ServerUnderTest> {
    const server = new ServerUnderTest(
      {
        ...process.env,
        STERNA_DATA_DIR: directory,
        STERNA_HOSTNAME: 'relay.campaign.example',
        STERNA_SUBMISSION_ALLOW_PLAINTEXT_AUTH_ON_LOOPBACK: 'true',
        STERNA_DNS_SERVERS: dnsServer,
        STERNA_DELIVERY_PORT: String(mxPort),
        STERNA_DELIVERY_ALLOW_PRIVATE_ADDRESSES: 'true',
        STERNA_DELIVERY_RETRY_SCHEDULE: '1s',
        STERNA_PLANS: 'unbounded=10000000',
        STERNA_LOG_LEVEL: 'error',
        ...settings,
      },
      await freePorts(),
    )
    server.addSender(directory)
    return server
  }

  /** Makes the account, the domain and the key of who sends, in a database that has nothing yet. `directory`: for a file. */
  addSender(directory: string): void {
    this.command(...firstAccount(directory, 'campaign', 'unbounded'))
    this.command('domain', 'add', 'sender.example', '--account', 'campaign')
    this.command('domain', 'verify', 'sender.example', '--manual')
    this.token = this.command('key', 'create', '--account', 'campaign', '--permission', 'full_access')
  }

  /** The same server on another directory and other ports, which writes nothing itself; `more` goes into its environment. */
  async on(directory: string, more: Record<string, string> = {}): Promise<ServerUnderTest> {
    const server = new ServerUnderTest({ ...this.environment, ...more, STERNA_DATA_DIR: directory }, await freePorts())
    server.token = this.token
    server.#isQuiet = true
    return server
  }

  command(...words: string[]): string {
    return execFileSync(process.execPath, [command, ...words], {
      env: this.environment,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  }

  /** The same while this process goes on, and however it ends. */
  async tryCommand(...words: string[]): Promise<Ending> {
    return endingOf(spawn(process.execPath, [command, ...words], { env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] }))
  }

  get submissionPort(): number {
    return this.#ports.submission
  }

  get httpPort(): number {
    return this.#ports.http
  }

  get returnPathPort(): number {
    return this.#ports.returnPath
  }

  /**
   * Starts the server; resolves with the ms it took until every door answered. Where another program has taken one of its ports since
   * they were found free, its first start takes others.
   * @throws NotStarted where it ended instead
   */
  async start(): Promise<number> {
    for (const isFirst = !this.#process; ;) {
      try {
        return await this.#startOnce()
      } catch (error) {
        if (!isFirst || !(error instanceof NotStarted) || !error.ending.stderr.includes('EADDRINUSE')) throw error
        this.#ports = await freePorts()
        Object.assign(this.environment, listenOn(this.#ports))
      }
    }
  }

  async #startOnce(): Promise<number> {
    const since = performance.now()
    const limit = this.openFiles === null ? '' : `ulimit -n ${this.openFiles}; `
    const words = ['-c', `${limit}exec "$@"`, 'sh', process.execPath, this.program, 'serve']
    this.#process = spawn('sh', words, { env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#said = ''
    this.#process.stdout?.on('data', (text: Buffer) => (this.#said += text.toString()))
    this.#logged = ''
    this.#process.stderr?.on('data', (text: Buffer) => (this.#logged += text.toString()))
    if (!this.#isQuiet) this.#process.stderr?.pipe(process.stderr, { end: false })
    this.#ended = endingOf(this.#process)
    const doors = Promise.all([this.submissionPort, this.httpPort, this.returnPathPort].map((port) => waitForPort('127.0.0.1', port)))
    doors.catch(() => {})
    const ending = await Promise.race([doors.then(() => null), this.#ended])
    if (ending) throw new NotStarted(ending)
    return performance.now() - since
  }

  /** What it has written to standard output since its start. */
  get said(): string {
    return this.#said
  }

  /** Its log since its start. */
  get logged(): string {
    return this.#logged
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null
  }

  /** MB of memory that the server and the processes it started have, on Linux. */
  memory(): number {
    const pid = this.#process?.pid ?? 0
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    return Math.round([String(pid), ...children].reduce((sum, each) => sum + residentBytes(each), 0) / 1024 / 1024)
  }

  /** Sends a signal and waits for the end; null where it runs no more. */
  async end(signal: NodeJS.Signals): Promise<Ending | null> {
    if (!this.isRunning) return null
    this.#process?.kill(signal)
    return this.ended
  }

  /** Resolves at the moment of its end; `ended` waits for those that it has started, too. */
  get exited(): Promise<void> {
    return new Promise((resolve) => (this.isRunning ? this.#process?.once('exit', () => resolve()) : resolve()))
  }

  /** How it ends. */
  get ended(): Promise<Ending> {
    return this.#ended ?? Promise.reject(new Error('the server was never started'))
  }
}

interface Ports {
  submission: number
  submissionTls: number
  http: number
  returnPath: number
}

const freePorts = async (): Promise<Ports> => ({
  submission: await freePort(),
  submissionTls: await freePort(),
  http: await freePort(),
  returnPath: await freePort(),
})

const listenOn = ({ submission, submissionTls, http, returnPath }: Ports): Record<string, string> => ({
  STERNA_HTTP_LISTEN: `127.0.0.1:${http}`,
  STERNA_SUBMISSION_LISTEN: `127.0.0.1:${submission}`,
  STERNA_SUBMISSION_TLS_LISTEN: `127.0.0.1:${submissionTls}`,
  STERNA_RETURN_PATH_LISTEN: `127.0.0.1:${returnPath}`,
})

function endingOf(child: ChildProcess): Promise<Ending> {
  const said = { stdout: '', stderr: '' }
  child.stdout?.on('data', (text: Buffer) => (said.stdout += text.toString()))
  child.stderr?.on('data', (text: Buffer) => (said.stderr += text.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...said }))
  })
}

function residentBytes(pid: string): number {
  const file = `/proc/${pid}/status`
  return existsSync(file) ? Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) * 1024 : 0
}
