import type { Counter, Metrics } from '../../platform/metrics/metrics.ts'

type Reason = keyof Metrics['refused']['api']

const sendingPath = /^\/api\/(?:send|emails|emails\/batch|emails\/[^/]+\/resend|templates\/[^/]+\/test)\/?$/

/** The kind of API through which a request would submit mail; null if it would not. */
export function wayIn({ method, path }: { method: string; path: string }): 'api' | 'compat' | null {
  if (method !== 'POST') return null
  if (path.startsWith('/compat/')) return 'compat'
  return sendingPath.test(path) ? 'api' : null
}

/** Why a submission got this status; null if nothing was wrong. */
export function reasonOfStatus(status: number): Reason | null {
  if (status < 400) return null
  if (status === 401) return 'authentication'
  if (status === 403) return 'permission'
  if (status === 409) return 'conflict'
  if (status === 429) return 'rate_limit'
  if (status === 507) return 'storage'
  return status >= 500 ? 'internal' : 'invalid'
}

/** Counts a request by its response, and a refused submission by its cause. */
export function countAnswer(
  request: { method: string; path: string; status: number },
  { httpRequests, refused }: Pick<Metrics, 'httpRequests' | 'refused'>,
): void {
  const byStatus: Record<number, Counter> = httpRequests
  ;(byStatus[request.status] ?? httpRequests.other).add()
  const reason = reasonOfStatus(request.status)
  const door = reason && wayIn(request)
  if (reason && door) refused[door][reason].add()
}
