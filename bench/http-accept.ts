import { runGenerator } from './burst.ts'
import { startSink } from './sink.ts'
import { startSterna } from './sterna-peer.ts'

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
  const { httpPort: port, token, stop } = await startSterna(sink, { recipientDomains: 1 })
  try {
    return await runGenerator<HttpFigures>('http-generator.ts', {
      port,
      token,
      from: 'bench@sender.example',
      connections: 50,
      seconds,
      size: 2048,
    })
  } finally {
    await stop()
    sink.stop()
  }
}
