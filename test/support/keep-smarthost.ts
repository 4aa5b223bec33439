import type { Relay } from '../../src/server/relay/relay.ts'

/** A smarthost with a password, and a route that names it. */
export async function keepSmarthost({ smarthosts, smarthostRoutes }: Relay['services']): Promise<{ smarthostId: string; routeId: string }> {
  const login = { user: 'relay', password: 'planted-password' }
  const { id: smarthostId, name: via } = await smarthosts.create({ name: 'kept', host: 'smtp.relay.example', login })
  const conditions = { accountId: null, sendingDomain: null, recipientDomain: 'kept.example', provider: null }
  return { smarthostId, routeId: (await smarthostRoutes.create({ ...conditions, via })).id }
}
