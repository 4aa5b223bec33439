/**
 * The benchmark: how fast this server accepts, signs and delivers, beside Postfix with OpenDKIM where those are
 * installed, in one run and in turn. Loopback only, bounded in messages and time. Linux, for the CPU figures.
 * `npm run bench -- --help` lists the options.
 */
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { reportAllocations } from './allocations.ts'
import { runGenerator, sendBurst } from './burst.ts'
import { median } from './figures.ts'
import { checkAllocations, keepAllocations } from './kept-allocations.ts'
import { help, options } from './options.ts'
import { cpuSeconds, residentMegabytes } from './process-figures.ts'
import { hasPostfixAndOpenDkim, startPostfixPeer, type Peer } from './postfix-peer.ts'
import { startSink } from './sink.ts'
import { startSterna } from './sterna-peer.ts'

const { values } = parseArgs({ options })
if (values.help) {
  console.log(help)
  process.exit(0)
}
const sink = await startSink('127.0.0.2')
if (values.allocations) {
  if (values.keep) await keepAllocations(sink)
  else if (!values.check) await reportAllocations(sink)
  else if (!(await checkAllocations(sink))) process.exit(1)
  process.exit(0)
}
const rounds = Number(values.rounds)
const domains = Number(values.domains)
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

async function measureWarm(peer: Peer, messages: number, size: number): Promise<Round> {
  if (warmUp > 0) await measure(peer, warmUp, size)
  return measure(peer, messages, size)
}

async function measure(peer: Peer, messages: number, size: number): Promise<Round> {
  let peak = 0
  const sampler = setInterval(() => (peak = Math.max(peak, residentMegabytes(peer.pids))), 250)
  const before = cpuSeconds(peer.pids)
  const { sent, received } = await sendBurst(peer, sink, {
    messages,
    size,
    connections: 10,
    perConnection: 10,
    recipientDomains: domains,
    ...(values.tracked === undefined ? {} : { tracked: values.tracked === 'true' }),
  })
  clearInterval(sampler)
  const used = cpuSeconds(peer.pids) - before
  return {
    deliveredPerSecond: received.delivered / ((received.lastAt - sent.startedAt) / 1000),
    cpuPerThousand: (used / received.delivered) * 1000,
    residentMb: peak,
    acceptP50: sent.p50Ms,
    acceptP99: sent.p99Ms,
    endToEndP50: received.p50Ms,
    endToEndP99: received.p99Ms,
    duplicates: received.duplicates,
    unsigned: received.delivered - received.signed,
    failed: messages - received.delivered + sent.failed,
  }
}

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
    const sterna = await startSterna(sink, { recipientDomains: domains })
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

const sterna = await startSterna(sink, { recipientDomains: 1 })
try {
  const http = await runGenerator<Record<'perSecond' | 'p50Ms' | 'p99Ms' | 'failed', number>>('http-generator.ts', {
    port: sterna.httpPort,
    token: sterna.token,
    from: 'bench@sender.example',
    connections: 50,
    seconds: Number(values['http-seconds']),
    size: 2048,
  })
  say(
    `HTTP accept, 2 KB, 50 connections, nothing delivered meanwhile:\n  Sterna ${http.perSecond.toFixed(0)} requests/s   ` +
      `p50/p99 ${http.p50Ms.toFixed(1)}/${http.p99Ms.toFixed(1)} ms   failed ${http.failed}`,
  )
  const machine = { cores: cpus().length, model: cpus()[0]?.model ?? null, node: process.versions.node }
  if (values.json) console.log(JSON.stringify({ object: 'benchmark', machine, rounds, smtp, http }, null, 2))
} finally {
  await sterna.stop()
}
process.exit(0)
