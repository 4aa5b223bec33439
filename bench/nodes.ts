import type { Load } from './burst.ts'
import { smtpLoad, type ComparedLoad } from './compared-load.ts'
import type { SternaOptions } from './sterna-peer.ts'
import { compareSides, type SideOptions } from './two-sides.ts'

export interface NodeComparison {
  /** Bursts to each server. */
  rounds: number
  warmUp: number
  /** What one node takes with its database in files and with PostgreSQL. */
  loads: ComparedLoad[]
  /** What one node and two take over PostgreSQL. */
  divided: Load
}

interface NodeSide extends SideOptions {
  server: Partial<SternaOptions> & { nodes: number }
}

const files: SideOptions = { title: 'one node, files', server: {} }
const one: NodeSide = { title: 'one node, PostgreSQL', server: { nodes: 1 } }
const two: NodeSide = { title: 'two nodes, PostgreSQL', server: { nodes: 2 } }

/** A server that takes its time, so that nodes wait for it rather than for CPU. */
const slowMs = 200
/** Connections that each node makes to it. Nodes divide the limit, so that the setting names those of all. */
const slowConnections = 20

/** Prints what PostgreSQL costs one node, and what a second node brings. Each server has a PostgreSQL of its own. */
export async function compareNodes({ rounds, warmUp, loads, divided }: NodeComparison): Promise<void> {
  for (const load of loads) await compareSides([files, one], load, rounds)
  for (const quota of [false, true]) {
    const words = quota ? 'one account with a quota' : 'no quota'
    const server = { recipientDomains: divided.recipientDomains, quota }
    await compareSides([one, two], smtpLoad(`2 KB, ${words}`, { load: divided, warmUp, server }), rounds)
    const title = `2 KB, ${words}, a next hop that takes ${slowMs} ms for a message, ${slowConnections} connections a node`
    const load = { ...divided, messages: Math.ceil(divided.messages / 4) }
    await compareSides([withConnections(one), withConnections(two)], smtpLoad(title, { load, warmUp, server, delayMs: slowMs }), rounds)
  }
}

const withConnections = ({ title, server }: NodeSide): NodeSide => ({
  title,
  server: { ...server, settings: { DELIVERY_MAX_CONNECTIONS_PER_HOST: String(slowConnections * server.nodes) } },
})
