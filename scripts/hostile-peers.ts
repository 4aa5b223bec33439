/**
 * Proves that no host and no name server, whatever it does, costs mail: a real server sends to some eighty hosts that each misbehave in a way of
 * their own, at each phase of SMTP and TLS, and to forty domains whose DNS is wrong, while it delivers to others. Then all are mended. Loopback
 * only, bounded.
 *
 * node scripts/hostile-peers.ts [--times 20] [--seconds 15] [--only 'TLS']
 *
 * `--times`: messages to each. Exits 0 when
 * - no message is lost,
 * - none bounces, but where the records say that no mail is wanted, or where a host has had it twice and answered with what is no answer,
 * - a host has got a message more than once only where it left that in doubt,
 * - mail to others arrives as fast as it may,
 * - a bad connection holds no more than a megabyte.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freePort } from '../bench/free-port.ts'
import { cpuSeconds } from '../bench/process-figures.ts'
import { endWithProcess } from '../test/support/end-with-process.ts'
import { startFakeDns, type FakeEntry, type FakeZone } from '../test/support/fake-dns.ts'
import { startFakeMx, type FakeMx } from '../test/support/fake-mx.ts'
import { startHelloFilter, type HelloFilter } from '../test/support/hello-filter.ts'
import { startHostileSink } from '../test/support/hostile-sink.ts'
import { testCertificate } from '../test/support/test-certificates.ts'
import { rowsIn } from './campaign/database-rows.ts'
import { dnsFaults, type DnsFault } from './campaign/dns-faults.ts'
import { emailTo, faultsOf, HealthyMail, missing, quantile } from './campaign/healthy-mail.ts'
import { hostileBehaviours, type HostileBehaviour } from './campaign/hostile-behaviours.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '15' },
    only: { type: 'string', default: '' },
  },
})
const [times, seconds] = [Number(values.times), Number(values.seconds)]
/** How long all may take once it is mended, ms: backoffs go on. */
const mendedMs = 240_000
/** What a bad connection may hold, bytes, and what the server's memory may grow by itself. */
const [heldEach, heldAnyway] = [1024 * 1024, 64 * 1024 * 1024]

const directory = mkdtempSync(join(tmpdir(), 'sterna-peers-'))
endWithProcess(() => rmSync(directory, { recursive: true, force: true }))
const port = await freePort()

/** Where mail goes whose host or name servers misbehave. */
interface BadDestination {
  name: string
  domain: string
  copies: HostileBehaviour['copies'] | 'none'
  /** How often its host has got each message, by its subject. */
  got: Map<string, number>
  openConnections(): number
  mend(): void
  close(): void
}

const healthyZone: FakeZone = Object.fromEntries(
  Array.from({ length: 10 }, (_, i) => [`healthy${i}.example`, { mx: [[10, 'mx.healthy.example']], ttl: 600 } satisfies FakeEntry]),
)
const dns = await startFakeDns({ ...healthyZone, 'mx.healthy.example': { a: ['127.0.4.20'], ttl: 600 } })
const sink = await startHostileSink('127.0.4.20', port, { silentAt: 'never' }, (head) => healthy.arrived(head))

async function startHost(
  address: string,
  { mx, resetsHello }: HostileBehaviour,
): Promise<{ host: FakeMx; filter: HelloFilter | null; got: Map<string, number> }> {
  const got = new Map<string, number>()
  const { dot } = mx.on ?? {}
  const on = {
    ...mx.on,
    dot: (...[message, session]: Parameters<NonNullable<typeof dot>>) => {
      const subject = /^Subject: (\S+)/m.exec(message.data.toString('latin1'))?.[1] ?? ''
      got.set(subject, (got.get(subject) ?? 0) + 1)
      return dot?.(message, session)
    },
  }
  const host = await startFakeMx({ ...mx, on, host: address, port: resetsHello ? 0 : port })
  const filter = resetsHello ? await startHelloFilter(host, (hello) => !isMended && resetsHello(hello), { host: address, port }) : null
  return { host, filter, got }
}

let isMended = false

async function badHost(behaviour: HostileBehaviour, i: number): Promise<BadDestination> {
  const address = `127.0.7.${i + 1}`
  const [domain, name] = [`peer${i}.example`, `mx.peer${i}.example`]
  dns.zone[domain] = { mx: [[10, name]], ttl: 600 }
  dns.zone[name] = { a: [address], ttl: 600 }
  const { host, filter, got } = await startHost(address, behaviour)
  const { dot: count } = host.on
  return {
    name: behaviour.name,
    domain,
    copies: behaviour.copies,
    got,
    openConnections: () => host.sessions.filter(({ closed }) => !closed).length,
    mend() {
      host.on = { dot: (message, session) => void count?.(message, session) }
      host.options.tls = undefined
      delete host.options.extensions
      host.cut()
      filter?.cut()
    },
    close() {
      filter?.close()
      void host.close()
    },
  }
}

async function badDns(fault: DnsFault, i: number): Promise<BadDestination> {
  const address = `127.0.8.${i + 1}`
  const right = { domain: `dns${i}.example`, host: `mx.dns${i}.example`, address }
  const { host, got } = await startHost(address, { name: fault.name, mx: {} })
  Object.assign(dns.zone, fault.zone(right))
  return {
    name: `DNS: ${fault.name}`,
    domain: right.domain,
    copies: fault.bounces ? 'none' : undefined,
    got,
    openConnections: () => 0,
    mend() {
      if (!fault.bounces)
        Object.assign(dns.zone, { [right.domain]: { mx: [[10, right.host]] }, [right.host]: { a: [address] } } satisfies FakeZone)
    },
    close: () => void host.close(),
  }
}

const [tls, ...others] = await Promise.all(Array.from({ length: 4 }, (_, i) => testCertificate([`mx${i}.example`])))
const isChosen = ({ name }: { name: string }): boolean => name.includes(values.only)
const behaviours = hostileBehaviours(
  tls as { key: string; cert: string },
  others.map(({ cert }) => cert),
).filter(isChosen)
const faultsOfDns = dnsFaults.filter(({ name }) => isChosen({ name: `DNS: ${name}` }))
const bad = await Promise.all([...behaviours.map(badHost), ...faultsOfDns.map(badDns)])

const data = join(directory, 'data')
mkdirSync(data)
const server = await ServerUnderTest.prepare(data, dns.server, port, { STERNA_DELIVERY_RETRY_SCHEDULE: '15s' })
const healthy = new HealthyMail((email) => post('/api/emails', email))

async function post(path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`refused: ${response.status} ${text}`)
}

/** The most that the server has held, and connections that misbehaved, since it was asked. */
function watchMemory(): () => { bytes: number; connections: number } {
  const most = { bytes: 0, connections: 0 }
  const look = (): void => {
    most.bytes = Math.max(most.bytes, server.memory() * 1024 * 1024)
    most.connections = Math.max(
      most.connections,
      bad.reduce((sum, { openConnections }) => sum + openConnections(), 0),
    )
  }
  look()
  const timer = setInterval(look, 250)
  return () => {
    clearInterval(timer)
    return most
  }
}

interface Row {
  destination: string
  state: string
  last_response: string | null
}

const rows = (): Row[] =>
  rowsIn(data)<Row>("select destination, state, last_response from recipient where destination like 'peer%' or destination like 'dns%'")
const waiting = (): string[] => [
  ...new Set(
    rows()
      .filter(({ state }) => state !== 'delivered' && state !== 'bounced')
      .map(({ destination }) => destination),
  ),
]

/** What is wrong with what became of the mail to one destination. */
function faultsAt({ name, domain, copies, got }: BadDestination, all: Row[]): string[] {
  const own = all.filter(({ destination }) => destination === domain)
  const wanted = copies === 'none' ? 'bounced' : 'delivered'
  // Mail that a host has taken twice with an answer that is none ends, and says so.
  const isRight = ({ state }: Row): boolean => state === wanted || (copies === 'twice' && state === 'bounced')
  const other = own.filter((row) => !isRight(row))
  const found = other.length > 0 ? [`${other.length} of ${own.length} ${other[0]?.state}: ${other[0]?.last_response}`] : []
  if (own.length !== times) found.push(`${own.length} of ${times} accepted`)
  const lost = wanted === 'delivered' ? times - got.size : 0
  if (lost > 0) found.push(`${lost} never reached the host`)
  const most = copies === 'any' ? Infinity : copies === 'twice' ? 2 : 1
  const repeated = [...got.values()].filter((count) => count > most).length
  if (repeated > 0) found.push(`${repeated} came more than ${most} time(s)`)
  return found.map((fault) => `${name}: ${fault}`)
}

async function sendTo(domains: string[]): Promise<void> {
  const emails = domains.flatMap((domain) => Array.from({ length: times }, (_, i) => emailTo(`u${i}@${domain}`, `${domain}-${i}`)))
  for (let i = 0; i < emails.length; i += 100) await post('/api/emails/batch', emails.slice(i, i + 100))
}

await server.start()
for (let i = 0; i < 100; i++) await healthy.send('fresh')
// As much mail as to those that misbehave, to as many hosts that do not.
const crowd = bad.map((_, i) => `crowd${i}.example`)
const willing = await Promise.all(crowd.map((_, i) => startHostileSink(`127.0.9.${i + 1}`, port, { silentAt: 'never' })))
crowd.forEach((domain, i) => (dns.zone[domain] = { a: [`127.0.9.${i + 1}`], ttl: 600 }))
const quietSince = cpuSeconds([server.pid])
await sendTo(crowd)
const quiet = await healthy.press(seconds)
const quietCpu = cpuSeconds([server.pid]) - quietSince
const before = server.memory() * 1024 * 1024
const measured = watchMemory()
const cpuBefore = cpuSeconds([server.pid])
await sendTo(bad.map(({ domain }) => domain))
const figures = await healthy.press(seconds)
const cpu = cpuSeconds([server.pid]) - cpuBefore
const { bytes, connections } = measured()
const early = rows()

isMended = true
for (const each of bad) each.mend()
const mendedAt = performance.now()
// Most mail goes by itself. A second look at what the DNS has denied is a quarter of an hour later, a try at a host that has refused our address
// ten minutes, and an operator need not wait.
const refusing = rows().filter(({ last_response: reply }) => reply?.startsWith('5'))
for (const domain of waiting())
  if (domain.startsWith('dns') || refusing.some(({ destination }) => destination === domain))
    await server.tryCommand('queue', 'retry', domain)
while (waiting().length > 0 && performance.now() < mendedAt + mendedMs) await pause(500)
const mendedFor = (performance.now() - mendedAt) / 1000
await server.end('SIGTERM')

const final = rows()
const held = (bytes - before) / Math.max(1, connections)
const faults = [...faultsOf(figures, quiet), ...bad.flatMap((each) => faultsAt(each, final))]
if (bytes - before > heldAnyway + connections * heldEach) faults.push(`${(held / 1024).toFixed(0)} KB held by a bad connection`)
const shown = (ms: number): string => ms.toFixed(0)
const count = (of: Row[], state: string): number => of.filter((row) => row.state === state).length
const doubled = bad.reduce((sum, { got }) => sum + [...got.values()].filter((each) => each > 1).length, 0)
console.log(
  [
    `${behaviours.length} hosts and ${faultsOfDns.length} domains that misbehave, ${times} messages each`,
    `meanwhile ${count(early, 'delivered')} delivered, ${count(early, 'bounced')} bounced; all mended, done after ${mendedFor.toFixed(0)} s:`,
    `  ${count(final, 'delivered')} delivered, ${count(final, 'bounced')} bounced, ${doubled} came more than once`,
    `fresh mail to others: p50 ${shown(quantile(figures.fresh, 0.5))}, p99 ${shown(quantile(figures.fresh, 0.99))} ms; with as much mail to willing hosts ` +
      `${shown(quantile(quiet.fresh, 0.5))}, ${shown(quantile(quiet.fresh, 0.99))}; ${missing(figures)} missing`,
    `CPU of the server meanwhile: ${cpu.toFixed(1)} s in ${seconds} s, ${quietCpu.toFixed(1)} s with as much mail to willing hosts`,
    `memory: ${shown(before / 1048576)} MB before, ${shown(bytes / 1048576)} at most, ${connections} bad connections: ${shown(held / 1024)} KB each`,
  ].join('\n'),
)
for (const each of bad) each.close()
for (const each of willing) each.close()
sink.close()
await dns.close()
for (const fault of faults) console.log(`NOT ${fault}`)
process.exit(faults.length === 0 ? 0 : 1)
