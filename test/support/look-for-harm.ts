import type { Relay } from '../../src/server/relay/relay.ts'
import type { Services } from '../../src/server/relay/services.ts'

/** Does what the job of every minute does about accounts that do harm. */
export async function lookForHarm({ services }: Relay): Promise<void> {
  await (services as unknown as Pick<Services, 'harmWatch'>).harmWatch.look()
}
