import { finalChoice, providerOfHosts, smarthostOfChoice } from '../../mail-out/delivery/follow-choice.ts'
import { simulatorDomain } from '../../mail-out/delivery/simulator.ts'
import type { RouteServices } from '../../mail-out/delivery/route.ts'
import { smarthostNamed, type Smarthost } from '../../mail-out/delivery/smarthost.ts'
import { bySettings, misfits, type Choice, type RouteConditions, type RoutedMail } from '../../mail-out/smarthost/choose-route.ts'
import type { SmarthostRoutes, StoredRoute } from '../../mail-out/smarthost/smarthost-routes.ts'
import type { Smarthosts } from '../../mail-out/smarthost/smarthosts.ts'

export interface ExplainRouteServices {
  route: Pick<RouteServices, 'resolver' | 'smarthost'>
  smarthosts: Pick<Smarthosts, 'list'>
  smarthostRoutes: Pick<SmarthostRoutes, 'list' | 'choicesFor'>
}

/** Where mail would go now. */
interface Way {
  choice: Choice
  /** Null: to the recipient's own hosts. */
  smarthost: Smarthost | null
  /** Why it goes nowhere now; null: it does. */
  fault: string | null
  /** True if other mail for the destination may go another way. */
  isOfSome: boolean
}

const nowhere: Way = {
  choice: bySettings,
  smarthost: null,
  fault: 'Addresses at this domain simulate what their name says; nothing leaves this server.',
  isOfSome: false,
}

/** The same choice as delivery makes. */
export async function wayOf(mail: RoutedMail, { route, smarthosts, smarthostRoutes }: ExplainRouteServices): Promise<Way> {
  const choices = smarthostRoutes.choicesFor(() => mail)
  if (!choices) return { choice: bySettings, smarthost: route.smarthost, fault: null, isOfSome: false }
  const way = (choice: Choice, found: ReturnType<typeof smarthostOfChoice>): Way => ({
    choice,
    ...(found && 'outcome' in found
      ? { smarthost: null, fault: 'reason' in found.outcome ? found.outcome.reason : '' }
      : { smarthost: found, fault: null }),
    isOfSome: choices.isOfSome,
  })
  const final = await finalChoice(mail.destination, choices, route)
  if ('outcome' in final) return way(choices.usual, final)
  const named = new Map(smarthosts.list().map((each) => [each.name, smarthostNamed(each)]))
  return way(final.choice, smarthostOfChoice(final.choice, { smarthosts: named, smarthost: route.smarthost }))
}

export interface RouteExplanation extends Way {
  mail: RoutedMail
  /** The provider that runs the recipient's hosts; null: none that is known. */
  provider: string | null
  /** Every route in the order in which they are tried, and its conditions that the mail does not meet. */
  routes: { route: StoredRoute; misfits: (keyof RouteConditions)[] }[]
}

/** Which way mail would go, and why. */
export async function explainRoute(mail: RoutedMail, services: ExplainRouteServices): Promise<RouteExplanation> {
  if (mail.destination === simulatorDomain) return { ...nowhere, mail, provider: null, routes: [] }
  const mx = await services.route.resolver.mx(mail.destination)
  const provider = mx.status === 'servfail' ? null : providerOfHosts(mail.destination, mx.records)
  const routes = services.smarthostRoutes.list().map((route) => ({ route, misfits: misfits(route, mail, provider) }))
  return { ...(await wayOf(mail, services)), mail, provider, routes }
}
