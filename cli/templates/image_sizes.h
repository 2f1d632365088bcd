#pragma once

#include <string>

namespace trainer {

/// A folder of images as `image_folder` reads it.
struct ShownImages {
  std::string train;     ///< the folder of the class folders, below the folder that was shown; "." for that
  std::string test;      ///< the same of the test samples; empty: there is none
  int size = 0;          ///< to which images are scaled
  bool is_gray = false;  ///< no image that was looked at has a colour
};

/// Looks at some images of each class. Error(data) if there are no folders with images, or one is damaged.
ShownImages shown_images(const std::string& folder);

}  // namespace trainer
