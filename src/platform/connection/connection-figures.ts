import type { Gauges } from '../metrics/metrics-page.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { SlotFigures } from './connection-slots.ts'

type Port = keyof Metrics['connections']

/** Who is connected, per port. */
export const connectionFigures = (metrics: Metrics, ports: Record<Port, { connections(): SlotFigures }>): Gauges => ({
  part: 'connections',
  gauges: [...Object.values(metrics.connections), ...Object.values(metrics.connectionsLimit)],
  goodForMs: 0,
  read() {
    for (const [port, { connections }] of Object.entries(ports) as [Port, (typeof ports)[Port]][]) {
      const { open, max, refused, sentAway } = connections()
      metrics.connections[port].set(open)
      metrics.connectionsLimit[port].set(max)
      metrics.connectionsRefused[port].set(refused)
      metrics.connectionsSentAway[port].set(sentAway)
    }
  },
})
