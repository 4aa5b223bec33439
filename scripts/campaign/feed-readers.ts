import { setTimeout as pause } from 'node:timers/promises'
import type { ServerUnderTest } from './server-under-test.ts'

/** Somebody who follows the event log of a server that comes and goes. */
export interface FeedReader {
  name: string
  /** Ids of events in the order in which they came, with those that came twice. */
  seen: string[]
  /** How often the connection, or a request, did not end as it should. */
  broken: number
  /** What the server answered that it should not have. */
  faults: string[]
  stop(): Promise<void>
}

/** What a reader waits before it asks again, ms. */
const idleMs = 20

const address = ({ httpPort }: ServerUnderTest, path: string): string => `http://127.0.0.1:${httpPort}/api/events${path}`

/** One connection or request: it gets the id of the last event, and ends by itself or by the signal. */
type Round = (reader: FeedReader, last: string | null, signal: AbortSignal) => Promise<void>

function startReader(name: string, after: string | null, round: Round): FeedReader {
  const ending = new AbortController()
  const reader: FeedReader = { name, seen: [], broken: 0, faults: [], stop: () => Promise.resolve() }
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const last = reader.seen.at(-1) ?? after
      await round(reader, last, ending.signal).catch(() => reader.broken++)
      if (!ending.signal.aborted) await pause(idleMs)
    }
  }
  const running = run()
  reader.stop = () => {
    ending.abort()
    return running
  }
  return reader
}

/** Asks for the next page behind the last event that was seen, for ever. */
export const followPages = (server: ServerUnderTest, after: string | null = null, name = 'after='): FeedReader =>
  startReader(name, after, async (reader, last, signal) => {
    for (let place = last, hasMore = true; hasMore;) {
      const query = `?order=asc&limit=100${place === null ? '' : `&after=${place}`}`
      const response = await fetch(address(server, query), { headers: { authorization: `Bearer ${server.token}` }, signal })
      const body = (await response.json()) as { has_more: boolean; data: { id: string }[] }
      if (response.status === 503) throw new Error('the server cannot read now')
      if (response.status !== 200) return void reader.faults.push(`${response.status} ${JSON.stringify(body)}`)
      reader.seen.push(...body.data.map(({ id }) => id))
      place = reader.seen.at(-1) ?? place
      hasMore = body.has_more
    }
  })

/** Follows the stream, and connects again with the id of the last event; with `slowMs` it rests after each piece. */
export const followStream = (
  server: ServerUnderTest,
  { name, after, slowMs = 0 }: { name: string; after: string; slowMs?: number },
): FeedReader =>
  startReader(name, after, async (reader, last, signal) => {
    const headers = { authorization: `Bearer ${server.token}`, 'last-event-id': last ?? after }
    const response = await fetch(address(server, '/stream'), { headers, signal })
    if (response.status === 503) throw new Error('the server cannot read now')
    if (response.status !== 200) return void reader.faults.push(`${response.status} ${await response.text()}`)
    const decoder = new TextDecoder()
    let text = ''
    for await (const part of response.body as ReadableStream<Uint8Array>) {
      const frames = (text + decoder.decode(part, { stream: true })).split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const id = /^id: (\S+)$/m.exec(frame)?.[1]
        if (id !== undefined) reader.seen.push(id)
      }
      if (slowMs > 0) await pause(slowMs)
    }
  })
