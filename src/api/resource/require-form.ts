import { SternaError } from '../../platform/errors.ts'

/**
 * Checks that a body is a form as a browser sends it.
 * @throws SternaError `unsupported_media_type`
 */
export function requireForm(mediaType: string | undefined): void {
  if (!isForm(mediaType)) throw new SternaError('unsupported_media_type', 'Send the form as a browser does.')
}

/** Whether a body of this type is URL-encoded. */
export const isForm = (mediaType = ''): boolean => /^application\/x-www-form-urlencoded\b/i.test(mediaType)
