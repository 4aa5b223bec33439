import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ReceivedPost {
  headers: Record<string, string>
  body: string
}

export type Behaviour = (res: ServerResponse, req: IncomingMessage) => void

export interface WebhookReceiver {
  url: string
  port: number
  /** What has come, in order. */
  posts: ReceivedPost[]
  /** May be changed while it runs. */
  behave: Behaviour
}

/** Answers at once with this status. */
export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Behaviour =>
  (res) =>
    res.writeHead(code, headers).end(body)

/** Never answers. */
export const hang: Behaviour = () => {}

/** Sends these bytes one by one, far too slowly for anybody. */
export const dribble =
  (text: string, everyMs: number): Behaviour =>
  (_res, { socket }) => {
    let sent = 0
    const timer = setInterval(() => void socket.write(text[sent++ % text.length] as string), everyMs)
    socket.on('close', () => clearInterval(timer)).on('error', () => {})
  }

/** A real HTTP server on loopback that keeps what it is sent. */
export async function startReceiver(behave: Behaviour, host = '127.0.0.1'): Promise<WebhookReceiver> {
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      receiver.posts.push({ headers: req.headers as Record<string, string>, body: Buffer.concat(chunks).toString() })
      receiver.behave(res, req)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const receiver: WebhookReceiver = { url: `http://${host}:${port}/hook?from=sterna`, port, posts: [], behave }
  return receiver
}
