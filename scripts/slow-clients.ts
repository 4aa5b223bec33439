/**
 * Proves that slow clients shut nobody out: thousands of connections that send a byte now and then, to the HTTP port, to
 * submission and to the return path, from one network and from forty, without a key and with one key of each plan; meanwhile
 * others send requests and mail. Each attacker that is sent away comes again. Linux, loopback only, bounded.
 *
 * node scripts/slow-clients.ts [--sockets 10000] [--seconds 20] [--open-files N] [--within 2] [--only '40 networks']
 *
 * `--open-files` is the limit of open files that the server is given; `--only` names an attack, `--only 'one address,http'` an
 * attack on one port; give it as often as you like. Exits 0 when the server lives, no request or session
 * of others failed, and their p99 is below three seconds, or, with `--within`, so many times what it was when all was quiet.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { restMs } from '../src/platform/connection/connection-slots.ts'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { runFairClients, type FairFigures } from './campaign/fair-clients.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'
import { SlowAttackers, type SlowAttack } from './campaign/slow-attackers.ts'

const { values } = parseArgs({
  options: {
    sockets: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '20' },
    'open-files': { type: 'string' },
    within: { type: 'string' },
    only: { type: 'string', multiple: true },
  },
})
const [sockets, seconds] = [Number(values.sockets), Number(values.seconds)]
const within = values.within === undefined ? null : Number(values.within)
/** Without `--within`: far above what a free machine takes, ms. */
const maxMs = 3_000
const clients = 2

/** Whether an attack is to be run, on this port or on any. */
const isWanted = (attack: string, port?: string): boolean =>
  !values.only || values.only.some((wanted) => wanted === attack || wanted.startsWith(`${attack},${port ?? ''}`))

const forty = Array.from({ length: 40 }, (_, network) => `127.1.${network}.1`)
const fair = '127.2.0.1'
/** `few`: as many as one address may have, all of them idle; with more it is a lottery which of its clients get in. */
const attacks = [
  { name: 'one address', addresses: forty.slice(0, 1), localAddress: fair, few: false, plan: null },
  { name: 'our own address', addresses: forty.slice(0, 1), localAddress: forty[0]!, few: true, plan: null },
  { name: '40 networks', addresses: forty, localAddress: fair, few: false, plan: null },
  ...['free', 'starter', 'professional', 'enterprise', 'unbounded'].map((plan) => ({
    name: `a key, ${plan}`,
    addresses: forty,
    localAddress: fair,
    few: false,
    plan,
  })),
].filter(({ name }) => isWanted(name))
const fewAt: Record<SlowAttack['protocol'], number> = { http: 100, submission: 100, 'return path': 20 }

const directory = mkdtempSync(join(tmpdir(), 'sterna-slow-'))
const dns = await startFakeDns({})
const server = await ServerUnderTest.prepare(directory, dns.server, 25, {
  STERNA_RETURN_PATH_MESSAGES_PER_MINUTE: '0',
  STERNA_RETURN_PATH_STORAGE_LIMIT: '64GB',
})
const keys = Object.fromEntries(
  attacks.flatMap(({ plan }) => {
    if (plan === null) return []
    server.command('account', 'create', plan, '--plan', plan)
    return [[plan, server.command('key', 'create', '--account', plan, '--permission', 'full_access')]]
  }),
)
server.openFiles = values['open-files'] === undefined ? null : Number(values['open-files'])
await server.start()

const ports: [SlowAttack['protocol'], number][] = [
  ['http', server.httpPort],
  ['submission', server.submissionPort],
  ['return path', server.returnPathPort],
]

const faults: string[] = []
const shown = (ms: number): string => (ms === Infinity ? '-' : ms.toFixed(1)).padStart(8)

function judge(what: string, figures: FairFigures, quiet: FairFigures): void {
  if (figures.failed > 0)
    faults.push(`${what}: ${figures.failed} of ${figures.sessions} failed, the first with ${JSON.stringify(figures.firstFailure)}`)
  if (figures.p99 > (within === null ? maxMs : within * quiet.p99))
    faults.push(`${what}: p99 of ${figures.p99.toFixed(1)} ms, ${quiet.p99.toFixed(1)} when quiet`)
  if (!server.isRunning) faults.push(`${what}: the server has ended`)
}

console.log(
  `${sockets} slow connections${server.openFiles === null ? '' : `, ${server.openFiles} open files`}; requests and sessions of others, ms`,
)
console.log(
  `${'port'.padEnd(12)}${'attack from'.padEnd(16)}${'p50'.padStart(8)}${'p99'.padStart(8)}${'of'.padStart(7)}${'failed'.padStart(8)}${'held'.padStart(7)}${'sent away'.padStart(11)}`,
)
for (const [protocol, port] of ports) {
  const wanted = attacks.filter(({ name, plan }) => isWanted(name, protocol) && (plan === null || protocol !== 'return path'))
  if (wanted.length === 0) continue
  const load = { port, protocol, token: server.token, strangers: false, seconds, clients }
  const asStrangers = { ...load, strangers: true, localAddress: fair }
  // The first ones find everything cold.
  await runFairClients({ ...load, localAddress: fair, seconds: Math.min(seconds / 2, 2) })
  const quiet = await runFairClients({ ...load, localAddress: fair })
  const quietStrangers = protocol === 'http' && wanted.some(({ plan }) => plan !== null) ? await runFairClients(asStrangers) : null
  const line = (name: string, { p50, p99, sessions, failed }: FairFigures, attack = ''): void =>
    console.log(
      `${protocol.padEnd(12)}${name.padEnd(16)}${shown(p50)}${shown(p99)}${String(sessions).padStart(7)}${String(failed).padStart(8)}${attack}`,
    )
  line('nowhere', quiet)
  if (quietStrangers) line('  strangers', quietStrangers)
  for (const { name, addresses, localAddress, few, plan } of wanted) {
    const token = plan === null ? null : keys[plan]!
    const attackers = await SlowAttackers.start({ port, protocol, sockets: few ? fewAt[protocol] : sockets, addresses, token })
    if (few) await pause(restMs)
    const figures = await runFairClients({ ...load, localAddress })
    const { held, sentAway } = await attackers.figures()
    line(name, figures, `${String(held).padStart(7)}${String(sentAway).padStart(11)}`)
    judge(`${protocol}, ${name}`, figures, quiet)
    if (quietStrangers && plan !== null) {
      const ofStrangers = await runFairClients(asStrangers)
      line('  strangers', ofStrangers)
      judge(`${protocol}, ${name}, strangers`, ofStrangers, quietStrangers)
    }
    await attackers.stop()
    if (!server.isRunning) await server.start()
  }
}

await server.end('SIGTERM')
await dns.close()
rmSync(directory, { recursive: true, force: true })
for (const fault of faults) console.log(`NOT ${fault}`)
process.exit(faults.length === 0 ? 0 : 1)
