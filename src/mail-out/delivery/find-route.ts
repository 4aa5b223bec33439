import type { RouteResolver } from '../../platform/dns/dns-resolver.ts'
import type { DeliveryJob } from './attempt.ts'
import { deferral, isAbsence } from './outcome.ts'
import { routeTo, type FoundRoute, type Route, type RouteServices } from './route.ts'

/** What the name servers said about a destination, which also tells how far to trust them. */
export interface LookUp {
  name: string
  /** False if they say that its mail has nowhere to go. */
  found: boolean
  /** True of a name that the DNS is known to have had. */
  isKnown: boolean
}

export interface FindRouteServices {
  route: RouteServices
  /** Each name server alone, bypassing caches. */
  eachServer: RouteResolver[]
  /** Called with the answers of name servers; not with cached answers, nor if they could not tell. */
  noteLookUp(lookUp: LookUp): void
}

/**
 * The route of a job. If an earlier attempt found none, each name server is asked separately, and an absence is believed only if they find
 * the sender.
 */
export async function findRoute({ destination, isSecondLook, knownName }: DeliveryJob, services: FindRouteServices): Promise<Route> {
  const route = isSecondLook ? await routeAnew(destination, services) : await routeTo(destination, services.route)
  const isAbsent = 'outcome' in route && isAbsence(route.outcome)
  if (isAbsent || ('hosts' in route && isAsked(route))) services.noteLookUp({ name: destination, found: !isAbsent, isKnown: false })
  if (!isAbsent || !isSecondLook || knownName === null || (await isFound(knownName, services))) return route
  return uncertain(`the name servers do not even find the sender's ${knownName}, so they are not believed about ${destination}`)
}

/** True if a name server was asked now: it is not the smarthost, and the MX records were not cached. */
export const isAsked = ({ mx }: FoundRoute): boolean => mx !== null && mx.isKept !== true

/** The route that any name server knows. An absence needs two of them, or the only one. */
async function routeAnew(destination: string, { route, eachServer }: FindRouteServices): Promise<Route> {
  const routes = await Promise.all(eachServer.map((resolver) => routeTo(destination, { ...route, resolver })))
  const found = routes.find((each) => 'hosts' in each)
  if (found) return found
  const [final, another] = routes.filter((each) => 'outcome' in each && each.outcome.type === 'bounced')
  if (final && (another || routes.length === 1)) return final
  return uncertain(`${final ? 'only one' : 'none'} of the name servers could tell where mail for ${destination} goes`)
}

async function isFound(knownName: string, { eachServer, noteLookUp }: FindRouteServices): Promise<boolean> {
  const statuses = (await Promise.all(eachServer.map((resolver) => resolver.mx(knownName)))).map(({ status }) => status)
  const found = statuses.includes('ok')
  if (found || !statuses.includes('servfail')) noteLookUp({ name: knownName, found, isKnown: true })
  return found
}

/** RFC 3463 3.5: a fault of a directory server. */
const uncertain = (what: string): Route => ({ outcome: deferral('timeout', `4.4.3 ${what}`).outcome })
