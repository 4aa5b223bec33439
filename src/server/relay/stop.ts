import type { Log } from '../../platform/log.ts'

/** Stops a service. What was started last stops first. */
export type Stop = () => Promise<unknown> | void

interface Startable {
  start?(): Promise<void> | void
  stop(): Promise<void> | void
}

/** Starts a service. It is stopped in its turn, also if it cannot be started. */
export async function start<Service extends Startable>(service: Service, stops: Stop[]): Promise<Service> {
  stops.push(() => service.stop())
  await service.start?.()
  return service
}

/** Stops all of them. A second call does nothing. */
export async function stopAll(stops: Stop[], log: Log): Promise<void> {
  for (const stop of stops.splice(0).reverse()) {
    try {
      await stop()
    } catch (error) {
      // The others must stop, too. If the database is locked, for example, some cannot write their last state.
      log.error({ error }, 'a service failed to stop')
    }
  }
}
