/**
 * The benchmark: how fast this server accepts, signs and delivers, beside Postfix with OpenDKIM where those are
 * installed, in one run and in turn. Loopback only, bounded in messages and time. Linux, for the CPU figures.
 * `npm run bench -- --help` lists the options.
 */
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { compareWith } from './against.ts'
import { reportAllocations } from './allocations.ts'
import { backlogRows, measureBacklog } from './backlog.ts'
import type { Load } from './burst.ts'
import { cases, type Case } from './cases.ts'
import { buildServer } from './checkout.ts'
import { httpLoad, smtpLoad, type ComparedLoad } from './compared-load.ts'
import { measureHttp, type HttpFigures } from './http-accept.ts'
import { checkAllocations, keepAllocations } from './kept-allocations.ts'
import { markdownTable } from './markdown-table.ts'
import { compareNodes } from './nodes.ts'
import { fairnessHeading, fairnessRows, measureFairness } from './fairness.ts'
import { help, options, unknownCases } from './options.ts'
import { figuresHeading, figuresRows, measureInTurn, type PeerFigures } from './peers-in-turn.ts'
import { hasPostfixAndOpenDkim } from './postfix-peer.ts'
import { startSink } from './sink.ts'

const { values } = parseArgs({ options })
const [rounds, warmUp, recipientDomains] = [Number(values.rounds), Number(values['warm-up']), Number(values.domains)]
const loads = values.case.flatMap((name) => (cases[name] ? [{ name, one: cases[name], load: loadOf(cases[name]) }] : []))

function loadOf({ load, share }: Case): Load {
  return { ...load, recipientDomains, messages: Math.ceil(Number(values.messages) * share) }
}

const machine = { cores: cpus().length, model: cpus()[0]?.model ?? null, node: process.versions.node }
const say = (text: string): void => void (values.json || console.log(text))

async function main(): Promise<number> {
  const unknown = unknownCases(values.case)
  if (values.help || unknown.length > 0) {
    console.log(unknown.length > 0 ? `There is no case ${unknown.join(', ')}.\n\n${help}` : help)
    return unknown.length > 0 ? 1 : 0
  }
  buildServer()
  if (values.allocations) return allocations()
  say(`${machine.cores} cores (${machine.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${machine.node}`)
  if (values.nodes) await compareNodes({ rounds, warmUp, loads: comparedLoads(), divided: loadOf(cases['2kb'] as Case) })
  else if (values.against !== undefined) await compareWith({ commit: values.against, rounds, loads: comparedLoads() })
  else return inTurn()
  return 0
}

function comparedLoads(): ComparedLoad[] {
  const smtp = loads.map(({ one: { meaning, webhooks = false }, load }) =>
    smtpLoad(meaning, { load, warmUp, server: { recipientDomains, webhooks } }),
  )
  return values.case.includes('http') ? [...smtp, httpLoad(httpTitle, Number(values['http-seconds']))] : smtp
}

const httpTitle = 'HTTP accept, 2 KB, 50 connections, nothing delivered meanwhile'

async function allocations(): Promise<number> {
  const sink = await startSink('127.0.0.2')
  if (values.keep) await keepAllocations(sink)
  else if (!values.check) await reportAllocations(sink)
  else return (await checkAllocations(sink)) ? 0 : 1
  return 0
}

async function inTurn(): Promise<number> {
  const smtp: (PeerFigures & { case: string; size: number; messages: number; cores: number })[] = []
  const rows: string[][] = []
  for (const { name, one, load } of loads) {
    for (const cores of coresToUse()) {
      const figures = await measureInTurn(one, { rounds, warmUp, load, cores, alone: values.alone })
      smtp.push({ case: name, size: load.size, messages: load.messages, cores: cores ?? machine.cores, ...figures })
      rows.push(...figuresRows(`${one.meaning}${cores === undefined ? '' : `, ${cores} core(s)`}`, figures))
    }
  }
  if (rows.length > 0) {
    say(`Medians of ${rounds} rounds of up to ${values.messages} messages after ${warmUp}, ${recipientDomains} destination(s)\n`)
    say(markdownTable([figuresHeading, ...rows]))
    if (!values.alone && !hasPostfixAndOpenDkim())
      say('Postfix with OpenDKIM is not installed (or this is not root): apt-get install postfix opendkim')
  }
  const http = values.case.includes('http') ? await measureHttp(Number(values['http-seconds'])) : null
  if (http) sayHttp(http)
  const backlog = values.case.includes('backlog') ? await measureBacklog(Number(values.backlog), loadOf(cases['2kb'] as Case)) : null
  if (backlog) say(`\n${markdownTable(backlogRows(backlog))}`)
  const fairness = values.case.includes('fairness') ? await measureFairness(values.waiting.split(',').map(Number)) : null
  if (fairness) say(`\n${markdownTable([fairnessHeading, ...fairnessRows(fairness)])}`)
  if (values.json) console.log(JSON.stringify({ object: 'benchmark', machine, rounds, smtp, http, backlog, fairness }, null, 2))
  return 0
}

const coresToUse = (): (number | undefined)[] => values.cores?.split(',').map(Number) ?? [undefined]

function sayHttp({ perSecond, p50Ms, p99Ms, failed }: HttpFigures): void {
  const figures = `${perSecond.toFixed(0)} requests/s, p50/p99 ${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)} ms, ${failed} failed`
  say(`\n${httpTitle}: ${figures}`)
}

process.exit(await main())
