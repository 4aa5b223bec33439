/**
 * The benchmark: how fast this server accepts, signs and delivers, beside Postfix with OpenDKIM where those are
 * installed, in one run and in turn. Loopback only, bounded in messages and time. Linux, for the CPU figures.
 *
 * npm run bench -- [--rounds 3] [--messages 6000] [--warm-up 1000] [--domains 1] [--http-seconds 5] [--alone]
 *   [--tracked true|false: mail has links, and its opens and clicks are tracked or not] [--json]
 */
import { spawn } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { cpuSeconds, residentMegabytes } from './process-figures.ts'
import { hasPostfixAndOpenDkim, startPostfixPeer, type Peer } from './postfix-peer.ts'
import { startSterna } from './sterna-peer.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    messages: { type: 'string', default: '6000' },
    'warm-up': { type: 'string', default: '1000' },
    domains: { type: 'string', default: '1' },
    'http-seconds': { type: 'string', default: '5' },
    alone: { type: 'boolean', default: false },
    tracked: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const domains = Number(values.domains)
const sink = { host: '127.0.0.2', port: 2525 }
const seconds = 120
/** Sent before those that count, to both: a server runs for months, and its first second is not what it does then. */
const warmUp = Number(values['warm-up'])

/** The figures are either lines for people, as they come, or one object at the end. */
const say = (line: string): void => void (values.json || console.log(line))

interface Round {
  deliveredPerSecond: number
  cpuPerThousand: number
  residentMb: number
  acceptP50: number
  acceptP99: number
  endToEndP50: number
  endToEndP99: number
  duplicates: number
  unsigned: number
  failed: number
}

/** Runs a helper program of this folder to its end; `ready` is called when it says something on standard error. */
function run(name: string, args: string[], ready: () => void = () => {}): Promise<Record<string, number>> {
  const child = spawn(process.execPath, [new URL(name, import.meta.url).pathname, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (ready(), bytes.toString() === 'listening\n' || process.stderr.write(bytes)))
  return new Promise((resolve, reject) => {
    child.on('exit', () => (output ? resolve(JSON.parse(output) as Record<string, number>) : reject(new Error(`${name} failed`))))
  })
}

async function measureWarm(peer: Peer, messages: number, size: number): Promise<Round> {
  if (warmUp > 0) await measure(peer, warmUp, size)
  return measure(peer, messages, size)
}

async function measure(peer: Peer, messages: number, size: number): Promise<Round> {
  let started = () => {}
  const listening = new Promise<void>((resolve) => (started = resolve))
  const received = run('smtp-sink.ts', [sink.host, String(sink.port), String(messages), String(seconds)], () => started())
  await listening
  const { host, port, user, password } = peer
  let peak = 0
  const sampler = setInterval(() => (peak = Math.max(peak, residentMegabytes(peer.pids))), 250)
  const before = cpuSeconds(peer.pids)
  const sent = await run('smtp-generator.ts', [
    JSON.stringify({
      host,
      port,
      user,
      password,
      messages,
      size,
      seconds,
      connections: 10,
      perConnection: 10,
      from: 'bounce@sender.example',
      recipientDomains: domains,
      ...(values.tracked === undefined ? {} : { tracked: values.tracked === 'true' }),
    }),
  ])
  const got = await received
  clearInterval(sampler)
  const used = cpuSeconds(peer.pids) - before
  const of = (figures: Record<string, number>, name: string) => figures[name] ?? 0
  const delivered = of(got, 'delivered')
  return {
    deliveredPerSecond: delivered / ((of(got, 'lastAt') - of(sent, 'startedAt')) / 1000),
    cpuPerThousand: (used / delivered) * 1000,
    residentMb: peak,
    acceptP50: of(sent, 'p50Ms'),
    acceptP99: of(sent, 'p99Ms'),
    endToEndP50: of(got, 'p50Ms'),
    endToEndP99: of(got, 'p99Ms'),
    duplicates: of(got, 'duplicates'),
    unsigned: delivered - of(got, 'signed'),
    failed: messages - delivered + of(sent, 'failed'),
  }
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0
const medianOf = (all: Round[], name: keyof Round): number => median(all.map((round) => round[name]))

/** Null if there was no round. */
const medians = (all: Round[]): object | null =>
  all[0] === undefined ? null : Object.fromEntries(Object.keys(all[0]).map((name) => [name, medianOf(all, name as keyof Round)]))
const smtp: object[] = []

function report(name: string, all: Round[]): void {
  const of = (field: keyof Round, digits = 0) => medianOf(all, field).toFixed(digits)
  say(
    `  ${name.padEnd(20)} ${of('deliveredPerSecond').padStart(6)} delivered/s   ${of('cpuPerThousand', 2)} CPU s/1000   ` +
      `${of('residentMb').padStart(4)} MB   accept p50/p99 ${of('acceptP50', 1)}/${of('acceptP99', 1)} ms   ` +
      `accept to delivered ${of('endToEndP50')}/${of('endToEndP99')} ms   ` +
      `unsigned ${of('unsigned')}   duplicates ${of('duplicates')}   failed ${of('failed')}`,
  )
}

say(`${cpus().length} cores (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`)
for (const [label, size, messages] of [
  ['2 KB', 2048, Number(values.messages)],
  ['50 KB', 51_200, Math.ceil(Number(values.messages) / 2)],
] as const) {
  say(
    `SMTP, ${label}, ${messages} messages after ${warmUp}, 10 connections, 10 messages a connection, ${domains} destination(s), medians of ${rounds}:`,
  )
  const ours: Round[] = []
  const theirs: Round[] = []
  for (let round = 0; round < rounds; round++) {
    if (!values.alone && hasPostfixAndOpenDkim()) {
      const postfix = await startPostfixPeer(sink)
      theirs.push(await measureWarm(postfix, messages, size).finally(() => postfix.stop()))
    }
    const sterna = await startSterna(sink, domains)
    ours.push(await measureWarm(sterna, messages, size).finally(() => sterna.stop()))
  }
  smtp.push({ size, messages, sterna: medians(ours), postfix: medians(theirs) })
  report('Sterna', ours)
  if (theirs.length > 0) {
    report('Postfix + OpenDKIM', theirs)
    const ratio = medianOf(ours, 'deliveredPerSecond') / medianOf(theirs, 'deliveredPerSecond')
    say(`  ratio ${ratio.toFixed(2)}`)
  } else if (!values.alone) {
    say('  Postfix with OpenDKIM is not installed (or this is not root): apt-get install postfix opendkim')
  }
}

const sterna = await startSterna(sink, 1)
try {
  const http = await run('http-generator.ts', [
    JSON.stringify({
      port: sterna.httpPort,
      token: sterna.token,
      from: 'bench@sender.example',
      connections: 50,
      seconds: Number(values['http-seconds']),
      size: 2048,
    }),
  ])
  say(
    `HTTP accept, 2 KB, 50 connections, nothing delivered meanwhile:\n  Sterna ${http.perSecond?.toFixed(0)} requests/s   ` +
      `p50/p99 ${http.p50Ms?.toFixed(1)}/${http.p99Ms?.toFixed(1)} ms   failed ${http.failed}`,
  )
  const machine = { cores: cpus().length, model: cpus()[0]?.model ?? null, node: process.versions.node }
  if (values.json) console.log(JSON.stringify({ object: 'benchmark', machine, rounds, smtp, http }, null, 2))
} finally {
  sterna.stop()
}
process.exit(0)
