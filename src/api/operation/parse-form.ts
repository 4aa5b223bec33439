import { SternaError } from '../../platform/errors.ts'

/**
 * The fields of a form as a browser sends it.
 * @throws SternaError `unsupported_media_type`
 */
export function formFields(text: string, mediaType: string | undefined): URLSearchParams {
  if (!isForm(mediaType)) throw new SternaError('unsupported_media_type', 'Send the form as a browser does.')
  return new URLSearchParams(text)
}

/** Whether a body of this type is URL-encoded. */
export const isForm = (mediaType = ''): boolean => /^application\/x-www-form-urlencoded\b/i.test(mediaType)
