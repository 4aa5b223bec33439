import type { Log } from '../../platform/log.ts'

/** Stops a service. What was started last stops first. */
export type Stop = () => Promise<unknown> | void

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
