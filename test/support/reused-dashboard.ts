import { loadDashboard } from '../../src/api/http/dashboard-bundle.ts'

const made = new Map<string, ReturnType<typeof loadDashboard>>()

/** Builds the dashboard for a base path once in this process: it takes longer than most tests that look at it. */
export function reusedDashboard(basePath: string): ReturnType<typeof loadDashboard> {
  const bundle = made.get(basePath) ?? loadDashboard(basePath)
  made.set(basePath, bundle)
  return bundle
}
