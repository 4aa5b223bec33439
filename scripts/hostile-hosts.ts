/**
 * Proves that nobody waits for somebody else's destination: while hosts hang at each phase, take large mail at 125 KB/s, do not
 * answer for sixty domains, or have no name server that answers for four thousand, fresh mail and scheduled mail to others arrives
 * on time; and that a host that refuses connections is let rest. Loopback only, bounded.
 *
 * node scripts/hostile-hosts.ts [--seconds 15] [--backlog 20000] [--only 'banner'] [--together]
 *
 * `--together`: all of them at once, and a small backlog, for a short run. Exits 0 when of fresh mail the p99 is below a second, no
 * scheduled mail is two seconds late (more than when all is quiet), all of it arrives, and a refusing host sees no more than
 * `maxAttempts` connections.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createTransport } from 'nodemailer'
import { freePort } from '../bench/free-port.ts'
import { startFakeDns, type FakeEntry } from '../test/support/fake-dns.ts'
import { rowsIn } from './campaign/database-rows.ts'
import { emailTo, faultsOf, HealthyMail, missing, quantile, type HealthyFigures } from './campaign/healthy-mail.ts'
import { startHostileSink, type HostileSink, type SilentAt } from '../test/support/hostile-sink.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '15' },
    backlog: { type: 'string', default: '20000' },
    only: { type: 'string' },
    together: { type: 'boolean', default: false },
  },
})
const [seconds, backlog] = [Number(values.seconds), Number(values.backlog)]
/** Connections that a refusing host may see in the time of a run: those that show that it refuses, and its probes. */
const maxAttempts = 100
const large = 20_000_000
const phases: SilentAt[] = ['banner', 'ehlo', 'mail', 'rcpt', 'data', 'dot']

const directory = mkdtempSync(join(tmpdir(), 'sterna-hostile-'))
const port = await freePort()

/** Domains by the beginning of their names, and the address of their host. */
function addressOf(name: string): string | null {
  const [, kind = '', number = '0'] = /^([a-z]+)(\d*)\./.exec(name) ?? []
  const phase = phases.indexOf(kind as SilentAt)
  if (phase >= 0) return `127.0.4.${phase + 1}`
  if (kind === 'many') return `127.0.5.${Number(number) + 1}`
  return { healthy: '127.0.4.20', slow: '127.0.4.21', refuses: '127.0.4.22' }[kind] ?? null
}

function answerFor(name: string): FakeEntry | undefined {
  if (name.startsWith('lame')) return 'timeout'
  const address = addressOf(name)
  if (!name.endsWith('.example') || address === null) return undefined
  return { mx: [[10, name]], a: [address], ttl: 600 }
}

const dns = await startFakeDns({}, answerFor)
const sinks = {
  healthy: await startHostileSink('127.0.4.20', port, { silentAt: 'never' }, (head) => healthy.arrived(head)),
  slow: await startHostileSink('127.0.4.21', port, { silentAt: 'never', bytesPerSecond: 125_000 }),
  refuses: await startHostileSink('127.0.4.22', port, { silentAt: 'never', resets: true }),
}
const silent = await Promise.all(phases.map((silentAt, i) => startHostileSink(`127.0.4.${i + 1}`, port, { silentAt })))
const many = await Promise.all(Array.from({ length: 60 }, (_, i) => startHostileSink(`127.0.5.${i + 1}`, port, { silentAt: 'banner' })))
const all: HostileSink[] = [...Object.values(sinks), ...silent, ...many]

const prepared = join(directory, 'prepared')
mkdirSync(prepared)
const settings = { STERNA_DELIVERY_RETRY_SCHEDULE: '1m' }
const first = await ServerUnderTest.prepare(prepared, dns.server, port, settings)

let server = first
const healthy = new HealthyMail((email) => post('/api/emails', email))

async function post(path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`refused: ${response.status} ${text}`)
}

async function sendMany(addresses: string[]): Promise<void> {
  for (let i = 0; i < addresses.length; i += 100)
    await post(
      '/api/emails/batch',
      addresses.slice(i, i + 100).map((to) => emailTo(to)),
    )
}

/** So many messages of 20 MB, each to all of these addresses. */
async function sendLarge(count: number, to: string[]): Promise<void> {
  const auth = { user: 'any', pass: server.token }
  const transport = createTransport({ host: '127.0.0.1', port: server.submissionPort, ignoreTLS: true, auth })
  const line = 'All work and no play makes a dull relay.\r\n'
  const raw = Buffer.from(`From: app@sender.example\r\nTo: ${to[0]}\r\nSubject: large\r\n\r\n${line.repeat(large / line.length)}`)
  for (let i = 0; i < count; i++) await transport.sendMail({ envelope: { from: 'app@sender.example', to }, raw })
  transport.close()
}

interface Attack {
  name: string
  begin(): Promise<void>
}

const range = <T>(length: number, of: (number: number) => T): T[] => Array.from({ length }, (_, number) => of(number))
const manyAddresses = range(6_000, (n) => `u${n}@many${n % 60}.example`)
const lameAddresses = range(4_000, (n) => `u${n}@lame${n}.example`)
const together: Attack = {
  name: 'all at once',
  async begin() {
    await sendLarge(
      4,
      ['slow', ...phases].map((name) => `u@${name}.example`),
    )
    await sendLarge(2, ['u@slow.example'])
    await sendMany([...range(1_000, (n) => `u${n}@refuses.example`), ...manyAddresses, ...lameAddresses])
  },
}
const attacks: Attack[] = [
  { name: 'nothing', begin: async () => {} },
  ...phases.map((phase) => ({ name: `4 x 20 MB, silent at ${phase}`, begin: () => sendLarge(4, [`u@${phase}.example`]) })),
  { name: '6 x 20 MB at 125 KB/s', begin: () => sendLarge(6, ['u@slow.example']) },
  { name: '60 silent domains x 100', begin: () => sendMany(manyAddresses) },
  { name: '4,000 lame domains', begin: () => sendMany(lameAddresses) },
  { name: `${backlog} to a host that refuses`, begin: () => sendMany(range(backlog, (n) => `u${n}@refuses.example`)) },
]

const faults: string[] = []
const shown = (ms: number): string => (ms === Infinity ? '-' : ms.toFixed(0))

async function run({ name, begin }: Attack): Promise<void> {
  const place = join(directory, name.replaceAll(/\W+/g, '-'))
  cpSync(prepared, place, { recursive: true })
  server = await first.on(place)
  await server.start()
  // Its destinations are known and its code is warm.
  for (let i = 0; i < 100; i++) await healthy.send('fresh')
  const quiet = await healthy.press(Math.min(seconds, 3))
  for (const sink of all) sink.connections = 0
  await begin()
  const figures = await healthy.press(seconds)
  tell(name, figures, { connections: sinks.refuses.connections, rows: countAttempts(place), memory: server.memory() })
  faults.push(...faultsOf(figures, quiet).map((fault) => `${name}: ${fault}`))
  await server.end('SIGKILL')
  rmSync(place, { recursive: true, force: true })
}

const countAttempts = (place: string): number =>
  rowsIn(place)<{ n: number }>(
    "select count(*) as n from attempt a join recipient r on r.id = a.recipient_id where r.destination = 'refuses.example'",
  )[0]?.n ?? 0

const line = (name: string, columns: (string | number)[]): string =>
  `${name.padEnd(34)}${columns.map((each) => String(each).padStart(12)).join('')}`

function tell(
  name: string,
  figures: HealthyFigures,
  { connections, rows, memory }: { connections: number; rows: number; memory: number },
): void {
  const { fresh, scheduled } = figures
  const times = [quantile(fresh, 0.5), quantile(fresh, 0.99), quantile(scheduled, 0.5), quantile(scheduled, 1)]
  console.log(line(name, [...times.map(shown), missing(figures), connections, rows, memory]))
  if (connections <= maxAttempts && rows <= maxAttempts) return
  faults.push(`${name}: ${connections} connections and ${rows} attempts at a host that refuses`)
}

console.log(
  `fresh mail and lateness of scheduled mail, ms; connections and attempts at the host that refuses; memory, MB (${seconds} s each)`,
)
console.log(line('', ['p50', 'p99', 'late p50', 'latest', 'missing', 'connections', 'attempts', 'MB']))
const chosen = values.together ? [together] : attacks.filter(({ name }) => values.only === undefined || name.includes(values.only))
for (const attack of chosen) await run(attack)

for (const sink of all) sink.close()
await dns.close()
rmSync(directory, { recursive: true, force: true })
for (const fault of faults) console.log(`NOT ${fault}`)
process.exit(faults.length === 0 ? 0 : 1)
