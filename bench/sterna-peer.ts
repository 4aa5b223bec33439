import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startFakeDns, type FakeZone } from '../test/support/fake-dns.ts'
import { freePort } from './free-port.ts'
import { endWithProcess } from '../test/support/end-with-process.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import type { Peer } from './postfix-peer.ts'
import type { Sink } from './sink.ts'
import { waitForPort } from './wait-for-port.ts'

const here = fileURLToPath(new URL('..', import.meta.url))
const probeModule = new URL('allocation-probe.js', import.meta.url).href

export interface SternaPeer extends Peer {
  httpPort: number
  token: string
  /** Those of the other accounts, by name. */
  tokens: Readonly<Record<string, string>>
  /** The UNIX sockets of allocation-probe.js, one for each node. */
  probes: string[]
  /** The first process of PostgreSQL; null: the database is in files. */
  postgresPid: number | null
  /** Of one node with its database in files. @param meanwhile is given the database's file while no server has it open */
  restart(meanwhile: (database: string) => void): Promise<void>
}

export interface SternaOptions {
  /** Domains rcpt0.example and so on, whose mail goes to the sink. */
  recipientDomains: number
  /** The directory of the source; this one unless given. */
  checkout?: string
  nodeFlags?: string[]
  /** Every event is posted to an endpoint, which this process has. */
  webhooks?: boolean
  /** How many nodes, over one PostgreSQL of their own; default: one, with its database in files. */
  nodes?: number
  /** Of every node, by the names of the environment without `STERNA_`. */
  settings?: Record<string, string>
  /** The account has a quota, which it does not use up. */
  quota?: boolean
  /** More names that the name servers know. */
  zone?: FakeZone
  /** More accounts; each sends from a domain of its own, NAME.example. */
  others?: string[]
}

/** A server as it is run in production, with a directory of its own and name servers that know the bench domains. */
export async function startSterna(
  sink: Sink,
  {
    recipientDomains,
    checkout = here,
    nodeFlags = [],
    webhooks = false,
    zone: more = {},
    nodes,
    settings = {},
    quota = false,
    others = [],
  }: SternaOptions,
): Promise<SternaPeer> {
  const directory = mkdtempSync(join(tmpdir(), 'sterna-bench-'))
  endWithProcess(() => rmSync(directory, { recursive: true, force: true }))
  const data = join(directory, 'data')
  // As durable as in files.
  const postgres = nodes === undefined ? null : startPostgres({ settings: { fsync: 'on' } })
  const url = await postgres?.newUrl()
  const mx = { mx: [[10, 'sink.example']] as [number, string][], ttl: 3600 }
  const zone = Object.fromEntries(Array.from({ length: recipientDomains }, (_, i) => [`rcpt${i}.example`, mx]))
  const dns = await startFakeDns({ ...zone, 'sink.example': { a: [sink.host], ttl: 3600 }, ...more })
  const [httpPort, ports, probes]: [number, number[], string[]] = [await freePort(), [], []]
  const environmentOf = async (node: number): Promise<NodeJS.ProcessEnv> => ({
    ...process.env,
    STERNA_DATA_DIR: node === 0 ? data : join(directory, `data-${node}`),
    STERNA_SECRET_KEY_FILE: join(data, 'secret.key'),
    STERNA_HOSTNAME: 'relay.bench.example',
    STERNA_HTTP_LISTEN: `127.0.0.1:${node === 0 ? httpPort : await freePort()}`,
    STERNA_SUBMISSION_LISTEN: `127.0.0.1:${(ports[node] ??= await freePort())}`,
    STERNA_SUBMISSION_TLS_LISTEN: `127.0.0.1:${await freePort()}`,
    STERNA_RETURN_PATH_LISTEN: `127.0.0.1:${await freePort()}`,
    STERNA_SUBMISSION_ALLOW_PLAINTEXT_AUTH_ON_LOOPBACK: 'true',
    STERNA_DNS_SERVERS: dns.server,
    STERNA_DELIVERY_PORT: String(sink.port),
    STERNA_DELIVERY_ALLOW_PRIVATE_ADDRESSES: 'true',
    STERNA_PLANS: 'unbounded=10000000',
    STERNA_LOG_LEVEL: 'error',
    BENCH_PROBE: (probes[node] = join(directory, `probe-${node}`)),
    ...(webhooks && { STERNA_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES: 'true' }),
    ...(url !== undefined && { STERNA_STORE_URL: url }),
    ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`STERNA_${name}`, value])),
  })
  const environments: NodeJS.ProcessEnv[] = []
  for (let node = 0; node < (nodes ?? 1); node++) environments.push(await environmentOf(node))
  const command = join(checkout, 'bin/sterna.js')
  const sterna = (...words: string[]): string =>
    execFileSync(process.execPath, [command, ...words], {
      env: environments[0],
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  sterna(...(await firstAccountWords(checkout, data)))
  sterna('domain', 'add', 'sender.example', '--account', 'bench')
  sterna('domain', 'verify', 'sender.example', '--manual')
  if (quota) sterna('account', 'quota', 'bench', '--day', '10000000')
  const token = sterna('key', 'create', '--account', 'bench', '--permission', 'full_access')
  const tokens: Record<string, string> = {}
  for (const name of others) {
    sterna('account', 'create', name, '--plan', 'unbounded')
    sterna('domain', 'add', `${name}.example`, '--account', name)
    sterna('domain', 'verify', `${name}.example`, '--manual')
    tokens[name] = sterna('key', 'create', '--account', name, '--permission', 'full_access')
  }
  const endpoint = webhooks ? await startEndpoint() : null
  if (endpoint) sterna('webhook', 'add', endpoint.url, '--account', 'bench')
  let servers: ChildProcess[] = []
  endWithProcess(() => servers.forEach((server) => server.kill('SIGKILL')))
  const launch = async (): Promise<void> => {
    const words = [...nodeFlags, `--import=${probeModule}`, command, 'serve']
    servers = environments.map((env) => spawn(process.execPath, words, { env, stdio: ['ignore', 'ignore', 'inherit'] }))
    for (const port of [...ports, httpPort]) await waitForPort('127.0.0.1', port)
  }
  await launch()
  const pidsOf = (): number[] => servers.map(({ pid }) => pid ?? 0)
  const end = async (): Promise<void> => {
    for (const server of servers) server.kill('SIGTERM')
    await Promise.all(servers.map((server) => once(server, 'exit')))
  }
  const peer: SternaPeer = {
    name: 'Sterna',
    host: '127.0.0.1',
    ports,
    httpPort,
    token,
    tokens,
    probes,
    postgresPid: postgres?.pid ?? null,
    user: 'any',
    password: token,
    pids: pidsOf(),
    async restart(meanwhile) {
      await end()
      meanwhile(join(data, 'sterna.db'))
      await launch()
      peer.pids = pidsOf()
    },
    async stop() {
      await end()
      await dns.close()
      endpoint?.close()
      postgres?.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return peer
}

async function startEndpoint(): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => void request.resume().on('end', () => response.end()))
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  return { url: `http://127.0.0.1:${port}/`, close: () => void (server.close(), server.closeAllConnections()) }
}

/** Commits before there was `sterna apply` have a command for it. */
async function firstAccountWords(checkout: string, data: string): Promise<string[]> {
  const module = join(checkout, 'test/support/first-account.ts')
  if (!existsSync(module)) return ['account', 'create', 'bench', '--plan', 'unbounded']
  const { firstAccount } = (await import(module)) as typeof import('../test/support/first-account.ts')
  return firstAccount(data, 'bench', 'unbounded')
}
