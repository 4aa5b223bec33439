import { copyFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterNode } from './cluster-node.ts'
import type { ClusterStage } from './cluster-stage.ts'
import { runNextVersion } from './next-version.ts'
import { startTogether } from './start-together.ts'

/** A time, as of `performance.now()`. */
export interface Span {
  from: number
  to: number
}

/** What a fault was, and what it may have led to. */
export interface FaultReport {
  /** What got to its recipient in this time may get there again: nobody knows whether it did. */
  repeats: Span | null
  /** When all that was acknowledged before should go on; null: it never stopped. */
  since: number | null
  /** When the others buried the node, after the fault, ms; null: nobody died. */
  buriedMs: number | null
  problems: string[]
}

interface ClusterFault {
  name: string
  /** @param node the one that it happens to, if not to all */
  run(stage: ClusterStage, node: ClusterNode, random: () => number): Promise<FaultReport>
}

/** How long the outcome of a delivery may wait before it is written, ms: the answer, a slow commit, and a busy machine. */
const unwrittenMs = 1_500
/** From when on a node that is cut off begins nothing more, ms: the length of its lease, and one beat. */
const leaseMs = 6_000
const outageMs = 12_000
const stoppedMs = 10_000
const endsWithinMs = 60_000

const unharmed = (problems: string[]): FaultReport => ({ repeats: null, since: null, buriedMs: null, problems })

const killed: ClusterFault = {
  name: 'kill -9',
  async run(_, node) {
    const at = performance.now()
    const ended = node.server.end('SIGKILL')
    await node.server.exited
    const repeats = { from: at - unwrittenMs, to: performance.now() }
    const buriedMs = (await node.buried()) - at
    await ended
    await node.start()
    return { repeats, since: at, buriedMs, problems: [] }
  },
}

const stopped: ClusterFault = {
  name: 'stopped for 10 s',
  async run(_, node) {
    const at = performance.now()
    process.kill(node.server.pid, 'SIGSTOP')
    const repeats = { from: at - unwrittenMs, to: performance.now() + 100 }
    const [buriedAt] = await Promise.all([node.buried(), pause(stoppedMs)])
    process.kill(node.server.pid, 'SIGCONT')
    const problems = await endOfBuried(node, buriedAt)
    await node.start()
    return { repeats, since: at, buriedMs: buriedAt - at, problems }
  },
}

const cutOff: ClusterFault = {
  name: 'cut off from the database',
  async run(_, node) {
    const at = performance.now()
    node.proxy.drop()
    const [buriedAt] = await Promise.all([node.buried(), pause(outageMs)])
    node.proxy.open()
    const problems = await endOfBuried(node, buriedAt)
    await node.start()
    return { repeats: { from: at - unwrittenMs, to: at + leaseMs }, since: at, buriedMs: buriedAt - at, problems }
  },
}

const databaseKilled: ClusterFault = {
  name: 'database killed',
  async run({ cluster, nodes }) {
    const before = nodes.map(({ server }) => server.pid)
    await cluster.restart()
    return { ...unharmed(stillThere(nodes, before)), since: performance.now() }
  },
}

const failedOver: ClusterFault = {
  name: 'fail-over to a replica',
  async run({ cluster, nodes }) {
    const before = nodes.map(({ server }) => server.pid)
    const replica = await cluster.replicate()
    await pause(1_000)
    await cluster.failOver(replica)
    for (const { proxy } of nodes) {
      proxy.target = cluster.socket
      proxy.open()
    }
    return { ...unharmed(stillThere(nodes, before)), since: performance.now() }
  },
}

const cutCommits: ClusterFault = {
  name: 'cut during COMMIT',
  async run({ nodes }, node, random) {
    const before = nodes.map(({ server }) => server.pid)
    for (const where of ['after', 'before', 'after', 'before'] as const) {
      await Promise.race([node.proxy.cutCommit(where), pause(endsWithinMs, null, { ref: false })])
      await pause(500 + random() * 500)
    }
    return { ...unharmed(stillThere(nodes, before)), since: performance.now() }
  },
}

const wrongClock: ClusterFault = {
  name: 'clocks an hour apart',
  async run(_, node, random) {
    const { environment } = node.server
    environment['NODE_OPTIONS'] = `--import ${new URL('./shifted-clock.ts', import.meta.url)}`
    environment['CAMPAIGN_CLOCK_MS'] = String((random() < 0.5 ? -1 : 1) * 3_600_000)
    const problems = await restarted(node)
    await pause(4_000)
    delete environment['NODE_OPTIONS']
    delete environment['CAMPAIGN_CLOCK_MS']
    problems.push(...(await restarted(node)))
    return { ...unharmed(problems), since: performance.now() }
  },
}

const startedTogether: ClusterFault = {
  name: 'three starts at once',
  run: async (stage) => unharmed(await startTogether(stage)),
}

const nextVersion: ClusterFault = {
  name: 'the next version beside this one',
  run: async (stage) => unharmed(await runNextVersion(stage)),
}

const rotatedKey: ClusterFault = {
  name: 'a new secret key',
  async run({ cluster, nodes }, node) {
    const before = nodes.map(({ server }) => server.pid)
    const used = async (): Promise<string> =>
      (await cluster.rows<{ fingerprint: string }>('select fingerprint from secret_key'))[0]!.fingerprint
    const earlier = await used()
    const rotated = await node.server.tryCommand('rotate', 'secret-key')
    if (rotated.code !== 0) return unharmed([`the key was not rotated: ${rotated.stderr}`])
    // Time for the node to read it, and for others to fail.
    await pause(3_000)
    const problems = (await used()) === earlier ? [] : ['the new key was used before all nodes had it']
    for (const each of nodes) if (each !== node) copyFileSync(node.keyFile, each.keyFile)
    for (const end = performance.now() + endsWithinMs; (await used()) === earlier; await pause(100)) {
      if (performance.now() > end) return unharmed([...problems, 'the new key was not used though all nodes have it'])
    }
    return unharmed([...problems, ...stillThere(nodes, before)])
  },
}

/** In the order in which a short run gets to them. */
export const clusterFaults: readonly ClusterFault[] = [
  killed,
  cutOff,
  failedOver,
  cutCommits,
  stopped,
  databaseKilled,
  startedTogether,
  wrongClock,
  nextVersion,
  rotatedKey,
]

/** Stops a node as a service manager does, and starts it again. @returns what was wrong */
async function restarted(node: ClusterNode): Promise<string[]> {
  const ending = await node.server.end('SIGTERM')
  await node.start()
  return ending?.code === 0 ? [] : [`a stop of ${node.name} ended with ${ending?.code}: ${ending?.stderr}`]
}

/** A node that others have buried writes nothing, and ends with a word about it. */
async function endOfBuried({ name, server, proxy, hasSaidWhy }: ClusterNode, buriedAt: number): Promise<string[]> {
  const ending = await Promise.race([server.ended, pause(endsWithinMs, null, { ref: false })])
  const late = proxy.commits.filter((at) => at > buriedAt).length
  const problems = late === 0 ? [] : [`${name} wrote ${late} times after it was buried`]
  if (ending === null) {
    await server.end('SIGKILL')
    return [...problems, `${name} did not end within ${endsWithinMs / 1000} s`]
  }
  return hasSaidWhy(ending) ? problems : [...problems, `${name} ended with ${ending.code}: ${ending.stderr.slice(-500)}`]
}

/** A fault that all nodes have to live through has ended none. @param pids from before */
function stillThere(nodes: ClusterNode[], pids: number[]): string[] {
  const gone = nodes.filter(({ server }, place) => !server.isRunning || server.pid !== pids[place])
  return gone.map(({ name, server }) => `${name} has ended: ${server.logged.slice(-500)}`)
}
