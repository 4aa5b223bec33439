import { cpSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { zone, type Stage } from './fault-stage.ts'
import type { ServerUnderTest } from './server-under-test.ts'

/** How long servers on copies may try to send what is queued, ms; they try it every second. */
const copiesRunMs = 4_000

/** What the copy of a data directory is left with that a running server has. */
const isKept = (path: string): boolean => !path.endsWith('.sock')

/** Two more servers start on copies of a directory in which mail is queued. */
const copiedDirectory: Fault = {
  name: 'a copied data directory',
  isShort: true,
  async strike(stage) {
    const { dns, supervised, directory, sink, ledger } = stage
    for (const name of Object.keys(dns.zone)) dns.zone[name] = 'servfail'
    await stage.takes(50)
    await supervised.hold()
    const queued = [...ledger.acknowledged].filter((id) => !sink.taken.has(id))
    const places = [1, 2].map((number) => `${directory}-${number}`)
    for (const place of places) cpSync(directory, place, { recursive: true, preserveTimestamps: true, filter: isKept })
    Object.assign(dns.zone, zone())
    supervised.release()
    const copies = await Promise.all(places.map((place) => startOn(place, stage)))
    await stage.demand('delivering what was queued', () => queued.every((id) => sink.taken.has(id)))
    await pause(copiesRunMs)
    for (const copy of copies) {
      const told = await faultsOf(copy)
      if (!told.includes('moved')) stage.problems.push(`a server on a copy told only: ${told.join(', ') || 'nothing'}`)
      await copy.end('SIGTERM')
    }
  },
}

async function startOn(place: string, { server }: Stage): Promise<ServerUnderTest> {
  const copy = await server.on(place)
  await copy.start()
  return copy
}

/** The names of the faults in /healthz. */
export async function faultsOf({ httpPort }: ServerUnderTest): Promise<string[]> {
  const answer = (await (await fetch(`http://127.0.0.1:${httpPort}/healthz`)).json()) as { faults?: { name: string }[] }
  return (answer.faults ?? []).map(({ name }) => name)
}

export const copyFaults: Fault[] = [copiedDirectory]
