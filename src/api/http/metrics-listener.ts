import type { BaseServices } from '../../platform/base-services.ts'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HostPort } from '../../platform/config/setting-types.ts'
import { listen } from '../../platform/connection/listen.ts'
import { expositionType } from '../../platform/metrics/exposition.ts'
import { HttpConnections } from './http-connections.ts'

interface MetricsListenerServices extends Pick<BaseServices, 'clock' | 'log'> {
  listen: HostPort[]
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
  /** The response to `GET /metrics`. */
  text(): Promise<string>
}

export interface MetricsListener {
  addresses: AddressInfo[]
  stop(): Promise<void>
}

/** A scraper needs one or two. */
const maxConnections = 20
const options = { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 75_000, connectionsCheckingInterval: 1_000 }

/**
 * Serves `GET /metrics` at these addresses to everybody, and nothing else.
 * @throws SternaError `configuration` if it cannot listen on an address; none is then left open
 */
export async function startMetricsListener(services: MetricsListenerServices): Promise<MetricsListener> {
  const servers: Server[] = []
  const connections = new HttpConnections({ ...services, maxConnections })
  const stop = async (): Promise<void> => {
    await Promise.all(
      servers.map(async (server) => {
        const closed = new Promise((resolve) => server.close(resolve))
        server.closeAllConnections()
        await closed
      }),
    )
  }
  for (const address of services.listen) {
    const server = createServer(options, (req, res) => void (connections.begin(req, res) && answer(req, res, services)))
    connections.watch(server)
    servers.push(server)
    try {
      await listen(server, address, { setting: 'metrics.listen', all: services.listen, log: services.log })
    } catch (error) {
      servers.pop()
      await stop()
      throw error
    }
  }
  return { addresses: servers.map((server) => server.address() as AddressInfo), stop }
}

async function answer(req: IncomingMessage, res: ServerResponse, { text, log }: MetricsListenerServices): Promise<void> {
  if (req.url?.split('?', 1)[0] !== '/metrics') return void res.writeHead(404).end()
  if (req.method !== 'GET' && req.method !== 'HEAD') return void res.writeHead(405, { Allow: 'GET, HEAD' }).end()
  try {
    const body = await text()
    res
      .writeHead(200, { 'Content-Type': expositionType, 'Content-Length': Buffer.byteLength(body) })
      .end(req.method === 'HEAD' ? undefined : body)
  } catch (error) {
    log.error({ error }, 'the metrics could not be served')
    res.writeHead(500).end()
  }
}
