/**
 * Measures what open dashboards cost while mail is delivered: CPU time of the server for a thousand emails, without and with people who
 * look at the overview or at the list of emails, in turn. They fetch what the pages fetch, when the pages do. Linux, loopback only, bounded.
 *
 * node scripts/open-dashboards.ts [--dashboards 50] [--per-second 200] [--seconds 30] [--rounds 3] [--stored 0]
 *
 * `--stored` is how many emails are delivered before it begins.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cpuSeconds } from '../bench/process-figures.ts'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startFakeMx } from '../test/support/fake-mx.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    dashboards: { type: 'string', default: '50' },
    'per-second': { type: 'string', default: '200' },
    seconds: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '3' },
    stored: { type: 'string', default: '0' },
  },
})
const [dashboards, perSecond, seconds] = [Number(values.dashboards), Number(values['per-second']), Number(values.seconds)]
/** A user may have 20 streams open. */
const dashboardsOfUser = 20
const password = 'correct horse battery'
/** The overview fetches its figures again this often, ms. */
const figuresMs = 30_000

const directory = mkdtempSync(join(tmpdir(), 'sterna-dashboards-'))
let arrived = 0
const mx = await startFakeMx({ host: '127.0.0.2', on: { dot: () => void arrived++ } })
const dns = await startFakeDns({ 'rcpt.example': { a: ['127.0.0.2'] } })
const server = await ServerUnderTest.prepare(directory, dns.server, mx.port)
const operator = server.command('key', 'create', '--account', 'campaign', '--permission', 'operator')
await server.start()
const baseUrl = `http://127.0.0.1:${server.httpPort}`

async function call(method: string, path: string, token: string, body?: unknown): Promise<any> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** A token as a page gets it, of a new user. */
async function logIn(number: number): Promise<string> {
  const { invitation_url: url } = await call('POST', '/api/users', operator, { email: `user${number}@people.example`, role: 'viewer' })
  const form = new URLSearchParams({ email: '', password })
  const entered = await fetch(baseUrl + new URL(url).pathname, { method: 'POST', body: form })
  const cookie = entered.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const exchanged = await fetch(`${baseUrl}/session/token`, { method: 'POST', headers: { cookie } })
  return ((await exchanged.json()) as { token: string }).token
}

let fetches = 0
async function look(path: string, token: string): Promise<void> {
  fetches++
  await call('GET', path, token)
}

/** One person who looks at a page until `isOver`. */
async function openDashboard(token: string, isOverview: boolean, closed: AbortSignal): Promise<void> {
  const list = isOverview ? '/api/emails?limit=7' : '/api/emails?limit=50'
  const since = new Date(Date.now() - 86_400_000).toISOString()
  const counts = 'sent,delivered,bounced,bounced_permanent,bounced_transient,complained,failed,delivery_rate,bounce_rate,complaint_rate'
  const figures = async (): Promise<void> => {
    await look(`/api/analytics?start_date=${since}&granularity=hourly&dimensions=period&metrics=${counts}&compare=previous`, token)
    await look(`/api/analytics/latency?start_date=${since}&compare=previous`, token)
  }
  await look(list, token)
  if (isOverview) await figures()
  const timer = isOverview ? setInterval(() => void figures(), figuresMs) : undefined
  closed.addEventListener('abort', () => clearInterval(timer))
  const stream = await fetch(`${baseUrl}/api/events/changes`, { headers: { authorization: `Bearer ${token}` }, signal: closed })
  try {
    for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) if (part.includes('data: ')) await look(list, token)
  } catch (error) {
    if (!closed.aborted) throw error
  }
}

/** Delivers so many; gives the CPU seconds that the server took for a thousand. */
async function deliver(count: number): Promise<number> {
  const before = cpuSeconds([server.pid])
  const end = arrived + count
  for (let sent = 0; sent < count; sent += perSecond / 10) {
    const to = Array.from({ length: perSecond / 10 }, (_, place) => `ann${sent + place}@rcpt.example`)
    const emails = to.map((address) => ({ from: 'app@sender.example', to: address, subject: 'Your receipt', html: '<p>Thank you.</p>' }))
    const pace = pause(100)
    await call('POST', '/api/emails/batch', server.token, emails)
    await pace
  }
  while (arrived < end) await pause(20)
  return ((cpuSeconds([server.pid]) - before) / count) * 1000
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
const tokens = await Promise.all(Array.from({ length: Math.ceil(dashboards / dashboardsOfUser) }, (_, number) => logIn(number)))
await deliver(Math.max(Number(values.stored), perSecond * 5))
const [alone, watched]: [number[], number[]] = [[], []]
for (let round = 0; round < Number(values.rounds); round++) {
  alone.push(await deliver(perSecond * seconds))
  const closed = new AbortController()
  const open = Array.from({ length: dashboards }, (_, place) =>
    openDashboard(tokens[Math.floor(place / dashboardsOfUser)] as string, place % 2 === 0, closed.signal),
  )
  await pause(2_000)
  const fetchedBefore = fetches
  watched.push(await deliver(perSecond * seconds))
  console.log(`${((fetches - fetchedBefore) / seconds).toFixed(1)} fetches a second`)
  closed.abort()
  await Promise.all(open)
}
const shown = (numbers: number[]): string => numbers.map((number) => number.toFixed(2)).join(', ')
console.log(`CPU s for 1000 emails, ${perSecond} a second: ${shown(alone)}; with ${dashboards} dashboards: ${shown(watched)}`)
console.log(
  `medians ${median(alone).toFixed(2)} and ${median(watched).toFixed(2)}: ${((median(watched) / median(alone) - 1) * 100).toFixed(1)} %`,
)
await server.end('SIGTERM')
await mx.close()
await dns.close()
rmSync(directory, { recursive: true, force: true })
