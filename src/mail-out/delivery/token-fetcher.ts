import { rootCertificates } from 'node:tls'
import type { Config } from '../../platform/config/settings.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { fetchToken, type FetchedToken } from '../oauth/fetch-token.ts'
import type { SmarthostGrant } from '../oauth/smarthost-grant.ts'
import { whyForbidden } from './address-guard.ts'
import { deliveryOptions } from './delivery-options.ts'
import type { DeliveryOptions } from './delivery-threads.ts'

type FetchToken = (grant: SmarthostGrant, parameters: Readonly<Record<string, string>>) => Promise<FetchedToken>

/** Asks token endpoints with the authorities of delivery. The operator has named them, so they may be in our own network. */
export function tokenFetcher(config: Config, resolver: Resolver): FetchToken {
  let options: DeliveryOptions | undefined
  return async (grant, parameters) => {
    try {
      const { extraAuthorities = [], ...given } = (options ??= deliveryOptions(config))
      const authorities = extraAuthorities.length > 0 ? [...rootCertificates, ...extraAuthorities] : undefined
      const { port, protocol } = new URL(grant.tokenUrl)
      const guard = { ...given, allowPrivateAddresses: true }
      const mayConnect = (address: string): boolean =>
        whyForbidden(address, Number(port) || (protocol === 'http:' ? 80 : 443), guard) === null
      return await fetchToken(grant, parameters, { resolver, mayConnect, authorities })
    } catch (error) {
      return { fault: { isRefusal: false, reason: messageOf(error) } }
    }
  }
}
