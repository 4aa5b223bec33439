import type { Relay } from '../../src/server/relay/relay.ts'
import type { Services } from '../../src/server/relay/services.ts'

/** Does what the job of every minute does about reports on TLS. */
export async function runTlsReports({ services }: Relay): Promise<void> {
  await (services as unknown as Pick<Services, 'tlsReports'>).tlsReports?.run()
}
