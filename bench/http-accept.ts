import { runGenerator } from './burst.ts'
import { startSink } from './sink.ts'
import { startSterna, type SternaPeer } from './sterna-peer.ts'

export interface HttpFigures {
  accepted: number
  failed: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Requests that are accepted over HTTP, nothing being delivered meanwhile. */
export async function measureHttp(seconds: number): Promise<HttpFigures> {
  const sink = await startSink('127.0.0.2')
  const peer = await startSterna(sink, { recipientDomains: 1 })
  try {
    return await sendHttp(peer, seconds)
  } finally {
    await peer.stop()
    sink.stop()
  }
}

export const sendHttp = ({ httpPort: port, token }: SternaPeer, seconds: number): Promise<HttpFigures> =>
  runGenerator('http-generator.ts', { port, token, from: 'bench@sender.example', connections: 50, seconds, size: 2048 })
