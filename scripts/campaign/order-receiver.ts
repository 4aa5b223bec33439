import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PayloadKind } from '../../src/notify/webhook/payload-kind.ts'
import { sortFields } from '../../test/support/sort-fields.ts'

export interface LoggedEvent {
  seq: number
  id: string
  /** The id of its email. */
  email: string
}

export interface Post {
  eventId: string
  /** True if it was answered with a 2xx. */
  taken: boolean
  body: string
  /** As of `performance.now()`. */
  at: number
}

/** An endpoint that keeps what it was told, in order. */
export interface OrderReceiver {
  url: string
  payload: PayloadKind
  posts: Post[]
  failures: number
  close(): Promise<void>
}

interface Manners {
  /** Answers within this time. */
  slowMs?: number
  /** How much of what comes is answered with 503. */
  failing?: number
}

/** Starts an endpoint that answers as `manners` say, the more or less as `random` does. */
export async function startOrderReceiver(
  payload: PayloadKind,
  { slowMs = 0, failing = 0 }: Manners,
  random: () => number,
): Promise<OrderReceiver> {
  const server = createServer((req, res) => {
    let body = ''
    req.setEncoding('utf8')
    req.on('data', (text: string) => (body += text))
    req.on('end', () => {
      const taken = random() >= failing
      receiver.posts.push({ eventId: String(req.headers['webhook-id']), taken, body, at: performance.now() })
      if (!taken) receiver.failures++
      setTimeout(() => res.writeHead(taken ? 200 : 503).end(), random() * slowMs)
    })
  })
  // On a busy machine it would else close a connection just when a post comes, which we take for a failed attempt and it never sees.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: OrderReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    payload,
    posts: [],
    failures: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}

interface Disorder {
  /** Events that came first after a later one of their email, though no attempt had failed. */
  outOfOrder: number
  /** Events that were taken after a later one of their email, because an attempt had failed. */
  afterFailure: number
  /** Events with the time of the one before. */
  sameTime: number
  /** Events whose fields do not put them behind the one before. */
  unsortable: number
  /** Events that did not come. */
  missing: number
}

/** Compares what an endpoint was told with the events that it should have been told of. */
export function countDisorder({ posts, payload }: OrderReceiver, log: LoggedEvent[]): Disorder {
  const disorder: Disorder = { outOfOrder: 0, afterFailure: 0, sameTime: 0, unsortable: 0, missing: 0 }
  const taken = new Map<string, Post>()
  const failed = new Set<string>()
  for (const post of posts) {
    if (post.taken) taken.set(post.eventId, taken.get(post.eventId) ?? post)
    else if (!taken.has(post.eventId)) failed.add(post.eventId)
  }
  const places = new Map([...taken.keys()].map((id, place) => [id, place]))
  for (const events of Map.groupBy(log, ({ email }) => email).values()) {
    const told = events.filter(({ id }) => taken.has(id))
    disorder.missing += events.length - told.length
    for (const [place, { id }] of told.entries()) {
      const isLate = told.slice(place + 1).some((later) => Number(places.get(later.id)) < Number(places.get(id)))
      if (isLate) disorder[failed.has(id) ? 'afterFailure' : 'outOfOrder']++
      const before = told[place - 1]
      if (before) compare(before.id, id)
    }
  }
  return disorder

  function compare(before: string, after: string): void {
    const fieldsOf = (id: string) => sortFields[payload](JSON.parse(taken.get(id)?.body ?? '{}'))
    const [[time, tie], [laterTime, laterTie]] = [fieldsOf(before), fieldsOf(after)]
    if (time === laterTime) disorder.sameTime++
    if (tie === undefined || laterTie === undefined ? time >= laterTime : tie >= laterTie) disorder.unsortable++
  }
}
