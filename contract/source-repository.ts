/** The repository that a release comes from; the packages' manifests name it too. */
export const SOURCE_REPOSITORY = 'https://github.com/example/omicron-browser';
