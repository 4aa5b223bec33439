import { setTimeout as pause } from 'node:timers/promises'
import { publicEventTypes, webhookEventTypes } from '../../src/mail/event/event-type.ts'
import type { Span } from './cluster-faults.ts'
import type { ClusterStage } from './cluster-stage.ts'
import type { FeedReader } from './feed-readers.ts'

/** Rows that somebody has in hand who is no node. */
const ownedByNobody = ['recipient', 'webhook_delivery', 'returned_mail', 'upload', 'erasure']
  .map((table) => `(select count(*) from ${table} where owner is not null and owner not in (select name from node))`)
  .concat('(select count(*) from duty where holder not in (select name from node))')
  .join(' + ')

const deliveriesTwice = `
  select count(*) as n from (select 1 from webhook_delivery group by webhook_id, event_id having count(*) > 1) as twice`

/** What somebody has in hand or is about to do. */
const underWay = `
  select (select count(*) from recipient where due_at is not null or owner is not null)
       + (select count(*) from webhook_delivery where state in ('pending', 'attempting'))
       + (select count(*) from returned_mail where state = 'received')
       + (select max(seq) from event) - (select position from cursor where name = 'webhook') as n`

const isIn = (at: number, spans: Span[]): boolean => spans.some(({ from, to }) => at >= from && at <= to)

/** Things that came more than once, and those of them for which no fault is to blame. */
export interface Repeated {
  times: number
  unexplained: string[]
}

/** @param came by name, the times at which it came; a fault explains what comes again after one in its span */
function repeatedOf(came: Iterable<[string, number[]]>, spans: Span[]): Repeated {
  const repeated: Repeated = { times: 0, unexplained: [] }
  for (const [name, times] of came) {
    repeated.times += times.length - 1
    if (times.slice(0, -1).some((at) => !isIn(at, spans))) repeated.unexplained.push(name)
  }
  return repeated
}

export const repeatedMail = ({ deliveries }: ClusterStage, spans: Span[]): Repeated =>
  repeatedOf(
    Array.from(deliveries, ([id, taken]) => [id, taken.map(({ at }) => at)]),
    spans,
  )

export const repeatedPosts = ({ receiver }: ClusterStage, spans: Span[]): Repeated => {
  const byEvent = Map.groupBy(receiver.posts, ({ eventId }) => eventId)
  const repeated = repeatedOf(
    Array.from(byEvent, ([id, posts]) => [id, posts.map(({ at }) => at)]),
    spans,
  )
  for (const [id, posts] of byEvent)
    if (new Set(posts.map(({ body }) => body)).size > 1) repeated.unexplained.push(`${id} with other bytes`)
  return repeated
}

const count = async ({ cluster }: ClusterStage, sql: string): Promise<number> => Number((await cluster.rows<{ n: number }>(sql))[0]?.n)

/** What holds at any time: asked again for some seconds, for a node may just be buried. */
export async function faultsOfRows(stage: ClusterStage): Promise<string[]> {
  let nobodys = 0
  for (let tries = 0; tries < 100; tries++) {
    nobodys = await count(stage, `select ${ownedByNobody} as n`)
    if (nobodys === 0) break
    await pause(100)
  }
  const twice = await count(stage, deliveriesTwice)
  return [
    ...(nobodys > 0 ? [`${nobodys} rows are owned by nobody`] : []),
    ...(twice > 0 ? [`${twice} events have two deliveries to one webhook`] : []),
  ]
}

/**
 * How long after a time all mail was attempted that was acknowledged before and had not got to its recipient, ms; how much that was, and by
 * how much the machine was late meanwhile, which may be busy with other work.
 */
export async function takenOver(stage: ClusterStage, since: number): Promise<{ waiting: number; ms: number; lateMs: number }> {
  const { acknowledgedAt, attempts, deliveries, lateness } = stage
  const before = [...acknowledgedAt].filter(([, at]) => at < since).map(([id]) => id)
  for (const end = performance.now() + 60_000; performance.now() < end && !before.every((id) => deliveries.has(id));) await pause(50)
  const waiting = before.filter((id) => (deliveries.get(id)?.[0]?.at ?? Infinity) > since)
  const ms = Math.max(0, ...waiting.map((id) => (attempts.get(id)?.find((at) => at > since) ?? Infinity) - since))
  return { waiting: waiting.length, ms, lateMs: lateness.during({ from: since, to: since + ms }) }
}

/**
 * When all other work that there is now will be done: events to be posted, and returned mail to be settled. As of `performance.now()`;
 * Infinity if it is not within two minutes.
 */
export async function otherWorkDone({ cluster }: ClusterStage): Promise<number> {
  const [last] = await cluster.rows<{ seq: number; returned: string }>(
    "select (select max(seq) from event) as seq, coalesce((select max(id) from returned_mail), '') as returned",
  )
  const left = `select (select count(*) from cursor where name = 'webhook' and position < ${last?.seq})
      + (select count(*) from webhook_delivery d join event e on e.id = d.event_id where d.state in ('pending', 'attempting') and e.seq <= ${last?.seq})
      + (select count(*) from returned_mail where state = 'received' and id <= '${last?.returned}') as n`
  for (const end = performance.now() + 120_000; performance.now() < end; await pause(100)) {
    if ((await cluster.rows<{ n: number }>(left))[0]?.n === 0) return performance.now()
  }
  return Infinity
}

/** Waits until all is done that was begun. @returns what was not, within five minutes */
export async function allDone(stage: ClusterStage): Promise<string[]> {
  const [lost] = await whenNone(() => lostMail(stage))
  await stage.stopBounces()
  const [left] = await whenNone(async () => Array<string>(await count(stage, underWay)).fill('left'))
  const problems = await faultsOfRows(stage)
  if (lost.length > 0) problems.push(`${lost.length} messages are lost: ${lost.slice(0, 10)}`)
  if (left.length > 0) problems.push(`${left.length} things are not done`)
  return problems
}

async function whenNone(find: () => string[] | Promise<string[]>): Promise<[string[]]> {
  for (const end = performance.now() + 300_000; ; await pause(200)) {
    const found = await find()
    if (found.length === 0 || performance.now() > end) return [found]
  }
}

const lostMail = ({ acknowledgedAt, deliveries }: ClusterStage): string[] => [...acknowledgedAt.keys()].filter((id) => !deliveries.has(id))

/** What the recipients, the log, the webhook and those who follow the log must agree on in the end. */
export async function faultsOfOutcome(stage: ClusterStage): Promise<string[]> {
  const { cluster, bounced, receiver, ledgers, deliveries, acknowledgedAt } = stage
  const problems: string[] = []
  const unasked = [...deliveries.keys()].filter((id) => !acknowledgedAt.has(id) && !ledgers.some(({ unknown }) => unknown.has(id)))
  if (unasked.length > 0) problems.push(`${unasked.length} messages were refused and delivered: ${unasked.slice(0, 10)}`)

  const told = await cluster.rows<{ address: string; events: number; suppressions: number }>(
    `select r.forward_path as address, (select count(*) from event e where e.recipient_id = r.id and e.type = 'email.bounced') as events,
            (select count(*) from suppression s where s.address = r.forward_path) as suppressions
       from recipient r where r.state = 'bounced'`,
  )
  const ofId = new Map(told.map((row) => [row.address.split('@')[0], row]))
  const wrong = [...bounced].filter((id) => ofId.get(id)?.events !== 1 || ofId.get(id)?.suppressions !== 1)
  if (wrong.length > 0) problems.push(`${wrong.length} of ${bounced.size} bounces are lost or counted twice: ${wrong.slice(0, 10)}`)

  const wanted = await eventIds(stage, webhookEventTypes)
  const posted = new Set(receiver.posts.map(({ eventId }) => eventId))
  const unposted = wanted.slice(wanted.indexOf(receiver.posts[0]?.eventId ?? '')).filter((id) => !posted.has(id))
  if (unposted.length > 0) problems.push(`${unposted.length} events were not posted`)
  return problems.concat(await faultsOfReaders(stage))
}

async function eventIds({ cluster }: ClusterStage, types: readonly string[]): Promise<string[]> {
  const list = types.map((type) => `'${type}'`).join(', ')
  return (await cluster.rows<{ id: string }>(`select id from event where type in (${list}) order by seq`)).map(({ id }) => id)
}

async function faultsOfReaders(stage: ClusterStage): Promise<string[]> {
  const log = await eventIds(stage, publicEventTypes)
  const end = performance.now() + 60_000
  while (performance.now() < end && !stage.readers.every(({ seen }) => seen.at(-1) === log.at(-1))) await pause(100)
  return stage.readers.flatMap((reader) => faultsOfReader(reader, log))
}

/** Each has begun at the first event, or behind it. */
function faultsOfReader({ name, seen, faults }: FeedReader, log: string[]): string[] {
  const expected = log.slice(log.indexOf(seen[0] ?? ''))
  const isRight = log.length - expected.length <= 1 && seen.length === expected.length && seen.every((id, place) => id === expected[place])
  const known = new Set(seen)
  const missing = expected.filter((id) => !known.has(id)).length
  return [
    ...(isRight ? [] : [`${name} has seen ${seen.length} events of ${log.length}; ${missing} are missing, or the order is wrong`]),
    ...(faults.length > 0 ? [`${name} was answered with ${faults[0]}`] : []),
  ]
}
