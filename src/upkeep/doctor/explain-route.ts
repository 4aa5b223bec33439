import { finalChoice, providerOfHosts, smarthostOfChoice } from '../../mail-out/delivery/follow-choice.ts'
import { simulatorDomain } from '../../mail-out/delivery/simulator.ts'
import type { RouteServices } from '../../mail-out/delivery/route.ts'
import { smarthostNamed, type Smarthost } from '../../mail-out/delivery/smarthost.ts'
import { bySettings, misfits, type Choice, type RouteConditions, type RoutedMail } from '../../mail-out/smarthost/choose-route.ts'
import type { SmarthostRoutes, StoredRoute } from '../../mail-out/smarthost/smarthost-routes.ts'
import type { Smarthosts } from '../../mail-out/smarthost/smarthosts.ts'
import { SternaError } from '../../platform/errors.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'

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
  const named = new Map(smarthosts.list().map((each) => [each.name, smarthostNamed(each)]))
  const final = await finalChoice(mail.destination, choices, route)
  const choice = 'choice' in final ? final.choice : choices.usual
  const found = 'choice' in final ? smarthostOfChoice(choice, { smarthosts: named, smarthost: route.smarthost }) : final
  const { isOfSome } = choices
  if (found === null || !('outcome' in found)) return { choice, smarthost: found, fault: null, isOfSome }
  return { choice, smarthost: null, fault: 'reason' in found.outcome ? found.outcome.reason : '', isOfSome }
}

export interface RouteExplanation extends Way {
  mail: RoutedMail
  /** Who runs the recipient's hosts; null: nobody who is known. */
  provider: string | null
  /** Every route in the order in which they are asked, and what the mail lacks for it. */
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

/**
 * The account and the domain that would send from a domain.
 * @throws SternaError `invalid_parameter` if there is none, or more than one and none is named
 */
export function senderOf(
  domain: string,
  accountId: string | null,
  { sendingDomains }: { sendingDomains: Pick<SendingDomains, 'list' | 'verifiedDomainFor'> },
): Pick<RoutedMail, 'accountId'> & { sendingDomain: string } {
  const accountIds = accountId === null ? new Set(sendingDomains.list().map((each) => each.accountId)) : [accountId]
  const senders = [...accountIds].flatMap((id) => {
    const found = sendingDomains.verifiedDomainFor(id, domain)
    return found ? [{ accountId: id, sendingDomain: found.name }] : []
  })
  const [sender, another] = senders
  if (sender && !another) return sender
  const whose = accountId === null ? 'No account has' : 'This account does not have'
  const fault = another ? `Several accounts send from ${domain}; name one.` : `${whose} the verified domain ${domain}.`
  throw new SternaError('invalid_parameter', `The parameter from must be an address that mail may be sent from. ${fault}`)
}
