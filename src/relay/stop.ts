import type { Log } from '../log.ts'

/** What ends a part that was started; the part started last ends first. */
export type Stop = () => Promise<unknown> | void

/** Ends all of them; called again, it does nothing. */
export async function stopAll(stops: Stop[], log: Log): Promise<void> {
  for (const stop of stops.splice(0).reverse()) {
    try {
      await stop()
    } catch (error) {
      // The others must end too: where the database is locked, for one, some cannot write their last.
      log.error({ error }, 'a part did not stop as it should')
    }
  }
}
