import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { freePort } from '../../bench/free-port.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'

const command = new URL('../../bin/sterna.js', import.meta.url).pathname

/** A real server process on a data directory that outlives it. */
export class ServerUnderTest {
  readonly #environment: NodeJS.ProcessEnv
  readonly submissionPort: number
  readonly httpPort: number
  readonly returnPathPort: number
  token = ''
  /** How many files and sockets the server may have open; null: as many as this process. */
  openFiles: number | null = null
  #process: ChildProcess | undefined

  private constructor(environment: NodeJS.ProcessEnv, ports: { submission: number; http: number; returnPath: number }) {
    this.#environment = environment
    this.submissionPort = ports.submission
    this.httpPort = ports.http
    this.returnPathPort = ports.returnPath
  }

  /**
   * Prepares the directory: an account, a verified domain `sender.example`, a key. The server is not started yet.
   * `settings`: by the names of their variables, beside those that every campaign has.
   */
  static async prepare(directory: string, dnsServer: string, mxPort: number, settings: Record<string, string> = {}): Promise<ServerUnderTest> {
    const [submissionPort, httpPort, tlsPort, returnPathPort] = [await freePort(), await freePort(), await freePort(), await freePort()]
    const server = new ServerUnderTest(
      {
        ...process.env,
        STERNA_DATA_DIR: directory,
        STERNA_HOSTNAME: 'relay.campaign.example',
        STERNA_HTTP_LISTEN: `127.0.0.1:${httpPort}`,
        STERNA_SUBMISSION_LISTEN: `127.0.0.1:${submissionPort}`,
        STERNA_SUBMISSION_TLS_LISTEN: `127.0.0.1:${tlsPort}`,
        STERNA_RETURN_PATH_LISTEN: `127.0.0.1:${returnPathPort}`,
        STERNA_SUBMISSION_ALLOW_PLAINTEXT_AUTH_ON_LOOPBACK: 'true',
        STERNA_DNS_SERVERS: dnsServer,
        STERNA_DELIVERY_PORT: String(mxPort),
        STERNA_DELIVERY_ALLOW_PRIVATE_ADDRESSES: 'true',
        STERNA_DELIVERY_RETRY_SCHEDULE: '1s',
        STERNA_PLANS: 'unbounded=10000000',
        STERNA_LOG_LEVEL: 'error',
        ...settings,
      },
      { submission: submissionPort, http: httpPort, returnPath: returnPathPort },
    )
    server.command('account', 'create', 'campaign', '--plan', 'unbounded')
    server.command('domain', 'add', 'sender.example', '--account', 'campaign')
    server.command('domain', 'verify', 'sender.example', '--manual')
    server.token = server.command('key', 'create', '--account', 'campaign', '--permission', 'full_access')
    return server
  }

  command(...words: string[]): string {
    return execFileSync(process.execPath, [command, ...words], { env: this.#environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  }

  /** Starts the server; resolves with the ms it took until every door answered. */
  async start(): Promise<number> {
    const since = performance.now()
    const limit = this.openFiles === null ? '' : `ulimit -n ${this.openFiles}; `
    const words = ['-c', `${limit}exec "$@"`, 'sh', process.execPath, command, 'serve']
    this.#process = spawn('sh', words, { env: this.#environment, stdio: ['ignore', 'ignore', 'inherit'] })
    await Promise.all([this.submissionPort, this.httpPort, this.returnPathPort].map((port) => waitForPort('127.0.0.1', port)))
    return performance.now() - since
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

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (!child || !this.isRunning) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }
}

function residentBytes(pid: string): number {
  const file = `/proc/${pid}/status`
  return existsSync(file) ? Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) * 1024 : 0
}
