import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { webhookEventTypes } from '../../src/mail/event/event-type.ts'
import { startFakeDns, type FakeDns } from '../../test/support/fake-dns.ts'
import { composeDsn } from '../../test/support/returned-mail.ts'
import { SmtpClient } from '../../test/support/smtp-client.ts'
import { ClusterNode } from './cluster-node.ts'
import { DatabaseProxy } from './database-proxy.ts'
import { followPages, followStream, type FeedReader } from './feed-readers.ts'
import { watchLateness, type Lateness } from './lateness.ts'
import { startLedgerSink, type LedgerSink, type TakenMessage } from './ledger-sink.ts'
import { startMixedLoad, type Ledger, type MailEntrance } from './mixed-load.ts'
import { startOrderReceiver, type OrderReceiver } from './order-receiver.ts'
import { PostgresCluster } from './postgres-cluster.ts'
import { ServerUnderTest } from './server-under-test.ts'

const database = 'campaign'
/** How long the sink takes to answer a final dot, ms, so that there is always mail in hand. */
const answerAfterMs = 100

/** Two nodes over one database, under load, and all who watch them. */
export interface ClusterStage {
  directory: string
  cluster: PostgresCluster
  nodes: [ClusterNode, ClusterNode]
  /** Has the settings of all, and writes nothing itself. */
  base: ServerUnderTest
  ledgers: Ledger[]
  /** When each message was acknowledged first. */
  acknowledgedAt: Map<string, number>
  /** When each message was attempted, whether or not it was taken. */
  attempts: Map<string, number[]>
  /** Each time that a message got to its recipient, oldest first. */
  deliveries: Map<string, TakenMessage[]>
  /** The recipients whose bounce was answered with 250. */
  bounced: Set<string>
  receiver: OrderReceiver
  readers: FeedReader[]
  lateness: Lateness
  stopLoad(): Promise<void>
  /** Reports the last bounces. */
  stopBounces(): Promise<void>
  close(): Promise<void>
}

const number = (id: string): number => Number(/\d+$/.exec(id)?.[0] ?? 0)

export async function startClusterStage(directory: string): Promise<ClusterStage> {
  const cluster = await PostgresCluster.start(database)
  const attempts = new Map<string, number[]>()
  const deliveries = new Map<string, TakenMessage[]>()
  const toBounce: TakenMessage[] = []
  const deferred = new Set<string>()
  const sink = await startLedgerSink('127.0.0.2', {
    answerAfterMs,
    // Some mail waits for its next attempt whenever something happens.
    isDeferred(id) {
      attempts.set(id, [...(attempts.get(id) ?? []), performance.now()])
      return number(id) % 10 === 3 && deferred.size < deferred.add(id).size
    },
    onTaken(message) {
      deliveries.set(message.id, [...(deliveries.get(message.id) ?? []), message])
      if (number(message.id) % 10 === 7) toBounce.push(message)
    },
  })
  const dns = await startDns()
  const proxies = [await DatabaseProxy.start(cluster.socket, database), await DatabaseProxy.start(cluster.socket, database)] as const
  const base = await ServerUnderTest.prepare(join(directory, 'base'), dns.server, sink.port, {
    // Commands are waited for by this process, in which the networks of the nodes are, too.
    STERNA_STORE_URL: cluster.urlOf(database),
    STERNA_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES: 'true',
    STERNA_WEBHOOKS_RETRY_SCHEDULE: Array(20).fill('1s').join(','),
    STERNA_RETURN_PATH_MESSAGES_PER_MINUTE: '0',
  })
  const nodes: [ClusterNode, ClusterNode] = [
    await ClusterNode.prepare('a', { base, directory, proxy: proxies[0], cluster }),
    await ClusterNode.prepare('b', { base, directory, proxy: proxies[1], cluster }),
  ]
  for (const node of nodes) await node.start()
  const entrance = inTurn(nodes, base.token)
  const receiver = await startOrderReceiver('standard', { slowMs: 50 }, Math.random)
  await addWebhook(entrance, receiver.url)
  const acknowledgedAt = new Map<string, number>()
  const onAcknowledged = (id: string): void => void (acknowledgedAt.has(id) || acknowledgedAt.set(id, performance.now()))
  const loads = [
    startMixedLoad(entrance, { smtpClients: 3, httpClients: 3, size: 2048, pauseMs: 150, onAcknowledged }),
    // Stored in several commits, before they are acknowledged.
    startMixedLoad(entrance, { smtpClients: 1, httpClients: 1, size: 1_500_000, pauseMs: 2_000, prefix: 'large-', onAcknowledged }),
  ]
  const lateness = watchLateness()
  const readers = await startReaders(nodes)
  const bouncer = startBouncer(nodes, toBounce)
  return {
    directory,
    cluster,
    nodes,
    base,
    ledgers: loads.map(({ ledger }) => ledger),
    acknowledgedAt,
    attempts,
    deliveries,
    bounced: bouncer.bounced,
    receiver,
    readers,
    lateness,
    async stopLoad() {
      await Promise.all(loads.map((load) => load.stop()))
    },
    stopBounces: () => bouncer.stop(),
    async close() {
      lateness.stop()
      await Promise.all(readers.map((reader) => reader.stop()))
      for (const { server } of nodes) await server.end('SIGTERM')
      await closeAll({ sink, dns, receiver })
      for (const proxy of proxies) proxy.stop()
      await cluster.stop()
    },
  }
}

async function closeAll({ sink, dns, receiver }: { sink: LedgerSink; dns: FakeDns; receiver: OrderReceiver }): Promise<void> {
  sink.close()
  await dns.close()
  await receiver.close()
}

function startDns(): Promise<FakeDns> {
  const mx = { mx: [[10, 'sink.example']] as [number, string][], ttl: 60 }
  const zone = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`rcpt${i}.example`, mx]))
  return startFakeDns({ ...zone, 'sink.example': { a: ['127.0.0.2'], ttl: 60 } })
}

/** Sends each connection and each request to the next node, as a load balancer does. */
function inTurn(nodes: ClusterNode[], token: string): MailEntrance {
  let turn = 0
  const next = (): ServerUnderTest => (nodes[turn++ % nodes.length] as ClusterNode).server
  return {
    token,
    get submissionPort() {
      return next().submissionPort
    },
    get httpPort() {
      return next().httpPort
    },
  }
}

async function addWebhook({ httpPort, token }: MailEntrance, url: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${httpPort}/api/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: [...webhookEventTypes] }),
  })
  if (!response.ok) throw new Error(`the webhook was answered with ${response.status}: ${await response.text()}`)
}

/** By pages and by stream at each node, from the first event on. */
async function startReaders(nodes: ClusterNode[]): Promise<FeedReader[]> {
  const pages = nodes.map(({ name, server }) => followPages(server, null, `pages at ${name}`))
  while (pages[0]?.seen[0] === undefined) await pause(20)
  const after = pages[0].seen[0]
  return [...pages, ...nodes.map(({ name, server }) => followStream(server, { name: `stream at ${name}`, after }))]
}

/** Reports messages as bounced, at one node after the other, each until a node has taken the report. */
function startBouncer(nodes: ClusterNode[], waiting: TakenMessage[]): { bounced: Set<string>; stop(): Promise<void> } {
  const bounced = new Set<string>()
  let isStopped = false
  const report = async ({ id, mailFrom, rcptTo }: TakenMessage): Promise<void> => {
    for (let turn = number(id); !bounced.has(id); turn++) {
      const { server } = nodes[turn % nodes.length] as ClusterNode
      const client = await SmtpClient.connect(server.returnPathPort).catch(() => null)
      try {
        await client?.command('EHLO mx.rcpt.example')
        const reply = await client?.send(composeDsn({ recipient: rcptTo }), { from: '', to: [mailFrom] })
        if (reply?.code === 250) bounced.add(id)
      } catch {
        // The node has gone: tried at the other.
      } finally {
        client?.close()
      }
      if (!bounced.has(id)) await pause(50)
    }
  }
  const work = async (): Promise<void> => {
    while (!isStopped || waiting.length > 0) {
      const message = waiting.shift()
      if (message) await report(message)
      else await pause(50)
    }
  }
  const working = Promise.all([work(), work()])
  return {
    bounced,
    async stop() {
      isStopped = true
      await working
    },
  }
}
